"""A network of its own for a part of a process: a loopback interface, which nobody else changes."""

from __future__ import annotations

import ctypes
import fcntl
import os
import socket
import struct
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from tests.ec2_testbed.bed_network import enter_new_namespace

# Of linux/if.h and linux/sockios.h.
_IFF_UP = 0x1
_SIOCSIFFLAGS = 0x8914


@contextmanager
def own_network() -> Iterator[None]:
    """Within the block the calling thread, and all that it starts, have a loopback of their own and no more.

    Without root, who alone may change that, all stays as it is.
    """
    if sys.platform != "linux":
        yield
        return
    before = os.open(f"/proc/self/task/{threading.get_native_id()}/ns/net", os.O_RDONLY | os.O_CLOEXEC)
    try:
        own = enter_new_namespace()
    except PermissionError:
        os.close(before)
        yield
        return
    try:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
            fcntl.ioctl(any_socket, _SIOCSIFFLAGS, struct.pack("16sh22x", b"lo", _IFF_UP))
        yield
    finally:
        if ctypes.CDLL(None, use_errno=True).setns(before, 0) != 0:
            raise OSError(ctypes.get_errno(), "setns() failed")
        os.close(own)
        os.close(before)
