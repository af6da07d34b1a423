from .modules.module import Module  # noqa
