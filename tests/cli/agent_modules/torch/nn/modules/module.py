"""The calls of torch.nn.Module, as PyTorch has written them: what memrec reads from their frames is `self`."""


class Module:
    """2.x: _wrapped_call_impl has self as a plain local; in _call_impl an inner function closes over it."""

    _compiled_call_impl = None

    def __init__(self, *inner):
        self.inner = inner

    def forward(self, act):
        for module in self.inner or (act,):
            module(act) if self.inner else act()

    def _wrapped_call_impl(self, *args, **kwargs):
        if self._compiled_call_impl is not None:
            return self._compiled_call_impl(*args, **kwargs)
        return self._call_impl(*args, **kwargs)

    def _call_impl(self, *args, **kwargs):
        result = None

        def inner():
            nonlocal result, args, kwargs
            result = self.forward(*args, **kwargs)
            return result

        return inner()

    __call__ = _wrapped_call_impl


def old_module():
    class Module:
        """1.x: _call_impl alone, without an inner function."""

        def __init__(self, *inner):
            self.inner = inner

        def forward(self, act):
            for module in self.inner or (act,):
                module(act) if self.inner else act()

        def _call_impl(self, *input, **kwargs):
            return self.forward(*input, **kwargs)

        __call__ = _call_impl

    return Module


def forgetful_module(closes_over):
    class Module:
        """`self` is gone when memory is asked for."""

        if closes_over:
            def _call_impl(self, act):
                def inner():
                    return self
                inner()
                del self
                act()
        else:
            def _call_impl(self, act):
                del self
                act()

        __call__ = _call_impl

    return Module


def cells_module():
    class Module:
        """More cells than one, and `self` not the first of them; arguments behind it."""

        def _call_impl(self, act, first=1, second=2, *, third=3):
            zeroth = [4]

            def inner():
                return zeroth, third, self, second, first, act()

            return inner()

        __call__ = _call_impl

    return Module


def _call_impl():
    """No method: there is no first argument."""
    act = ACT
    act()


ACT = None
