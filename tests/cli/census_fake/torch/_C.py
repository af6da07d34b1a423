class DisableTorchFunctionSubclass:
    def __enter__(self):
        pass

    def __exit__(self, *error):
        return False
