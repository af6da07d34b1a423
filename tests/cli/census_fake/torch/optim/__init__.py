from .optimizer import Optimizer  # noqa
