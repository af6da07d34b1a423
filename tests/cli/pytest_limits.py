"""pytest_limits.py - tests with limits for test_python_package.sh: two hold, two do not."""
import pytest
from gpu_driver import Driver

MIB = 1 << 20
kept = []
driver = Driver()


@pytest.mark.limit_gpu_memory("100 MiB")
def test_below():
    driver.free(driver.take(64 * MIB))


@pytest.mark.limit_gpu_memory("100MiB")
def test_above():
    driver.free(driver.take(128 * MIB))


@pytest.mark.limit_growth("1 MiB")
def test_clean():
    driver.free(driver.take(128 * MIB))


@pytest.mark.limit_growth("1 MiB")
def test_leak():
    kept.append(driver.take(2 * MIB))


def test_no_limit():
    driver.free(driver.take(256 * MIB))


@pytest.mark.limit_gpu_memory("1 KiB")
def test_fails_by_itself():
    assert not kept
