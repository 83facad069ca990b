"""The run replayed on other numbers of machines."""

from __future__ import annotations

from xml.etree.ElementTree import Element

from airflow_provider_ernest.model.run_profile import RunProfile
from airflow_provider_ernest.report.axes import logarithmic_axis, machines_axis
from airflow_provider_ernest.report.chart import Canvas, figure, frame, path, point
from airflow_provider_ernest.report.tables import table
from airflow_provider_ernest.report.wording import duration, machines, number


def sizes_chart(profile: RunProfile) -> Element:
    """Seconds against machines as a line, with the run that it is replayed from."""
    sizes = profile.sizes
    fastest = min(sizes, key=lambda size: size.seconds)
    was = f"the run: {duration(profile.seconds)} on {machines(profile.machines)}"
    return figure(
        lambda canvas: _draw(profile, canvas),
        description=(
            f"The run replayed on {sizes[0].machines} to {machines(sizes[-1].machines)}: "
            f"{duration(sizes[0].seconds)} to {duration(sizes[-1].seconds)}; the fastest is "
            f"{duration(fastest.seconds)} on {machines(fastest.machines)}; {was}."
        ),
        legend=[("line", "replayed"), ("observed", was)],
        caption=(
            "The same tasks on other numbers of machines of the same kind, without start-up. They take as "
            "long as they did, but for the warm-up of first tasks and for fetching: fewer machines fetch "
            "less. A stage of fewer tasks than there is room for gains nothing from more machines, "
            "and the driver works alone. Both axes are logarithmic."
        ),
        numbers=table(
            ["machines", "seconds"], ([f"{size.machines:,}", number(size.seconds)] for size in sizes)
        ),
    )


def _draw(profile: RunProfile, canvas: Canvas) -> list[Element]:
    counts = sorted({size.machines for size in profile.sizes} | {profile.machines})
    across = machines_axis(counts, start=canvas.left, end=canvas.right)
    seconds = [size.seconds for size in profile.sizes]
    up = logarithmic_axis([*seconds, profile.seconds], start=canvas.bottom, end=canvas.top)
    elements = frame(canvas, across=across, up=up, across_name="machines", up_name="seconds")
    places = [(across.place(size.machines), up.place(size.seconds)) for size in profile.sizes]
    if len(places) > 1:
        elements.append(path(places, class_="line"))
    for size, (x, y) in zip(profile.sizes, places, strict=True):
        says = f"{machines(size.machines)}: {duration(size.seconds)} replayed"
        elements.append(point(x, y, class_="line-point", says=says, radius=3.5))
    says = f"the run: {duration(profile.seconds)} on {machines(profile.machines)}"
    x, y = across.place(profile.machines), up.place(profile.seconds)
    return [*elements, point(x, y, class_="observed", says=says, radius=6)]
