"""The backend of Keras 3 that runs on Penstock: `src` has what Keras asks of a backend."""
