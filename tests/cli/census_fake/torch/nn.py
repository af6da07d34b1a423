class Module:
    def __init__(self):
        self._parameters, self._buffers, self._modules = {}, {}, {}
