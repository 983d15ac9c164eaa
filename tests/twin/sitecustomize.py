"""Read by every interpreter that has this folder in PYTHONPATH: the controller's and the agent's know the twin then."""

from collectives.backends import BACKENDS

BACKENDS["twin"] = "twin:BACKEND"
