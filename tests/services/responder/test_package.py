"""What importing the package of responders costs."""

import subprocess
import sys


def test_the_package_of_responders_loads_no_runtime_and_no_worker() -> None:
    """Authors of responders of their own stand on it."""
    code = (
        "import sys, evictd.responder; "
        "print([name for name in sys.modules if 'runtimes' in name or name.endswith('.service')])"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"
