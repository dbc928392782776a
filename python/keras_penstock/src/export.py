"""`model.export`, which needs the format of saved models."""


class SavedModelExportArchive:
    """Says what it cannot do."""

    _MESSAGE = "`model.export` is not supported with the penstock backend yet: model.save keeps a model."

    def __init__(self):
        raise NotImplementedError(self._MESSAGE)
