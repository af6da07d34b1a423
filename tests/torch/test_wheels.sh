# The declarations of CUDA and CUPTI against the headers of older and newer toolkits, from NVIDIA's wheels on PyPI.
exec bash "$SRC/tests/abi/wheels.sh" "$BUILD"
