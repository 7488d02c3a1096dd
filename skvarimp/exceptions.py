"""The warning categories of skvarimp."""


class ImportanceWarning(UserWarning):
    """An importance was computed, but something about it should be known."""


class ResponseWarning(UserWarning):
    """A fast response disagreed with the model's own output and was not used."""


__all__ = ["ImportanceWarning", "ResponseWarning"]
