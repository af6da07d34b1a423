_global_optimizer_post_hooks = {}


def register_optimizer_step_post_hook(hook):
    _global_optimizer_post_hooks[len(_global_optimizer_post_hooks)] = hook


class Optimizer:
    def __init__(self, parameters):
        self.param_groups, self.state = [{"params": list(parameters)}], {}

    def step(self):
        from torch import tensor
        for p in self.param_groups[0]["params"]:
            self.state.setdefault(p, {}) or self.state[p].update(exp_avg=tensor(*p.shape))
        for hook in list(_global_optimizer_post_hooks.values()):
            hook(self, (), {})
