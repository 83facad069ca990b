import subprocess
import sys


def test_it_is_loaded_when_it_is_called_for_and_not_before():
    code = (
        "import sys\n"
        "from airflow_provider_ernest.web.app import load_soon\n"
        "assert 'numpy' not in sys.modules\n"
        "thread = load_soon()\n"
        "assert load_soon() is thread\n"
        "thread.join()\n"
        "assert 'airflow_provider_ernest.views.prediction' in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
