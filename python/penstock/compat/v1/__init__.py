"""Names of TensorFlow 1: graphs that stay open, sessions that run them, and variables of graphs."""

from __future__ import annotations

from penstock._host import py_func as py_func
from penstock._variable import Variable as Variable
from penstock.compat.v1._graph import Graph as Graph
from penstock.compat.v1._graph import GraphKeys as GraphKeys
from penstock.compat.v1._graph import Operation as Operation
from penstock.compat.v1._graph import control_dependencies as control_dependencies
from penstock.compat.v1._graph import disable_eager_execution as disable_eager_execution
from penstock.compat.v1._graph import enable_eager_execution as enable_eager_execution
from penstock.compat.v1._graph import executing_eagerly as executing_eagerly
from penstock.compat.v1._graph import get_collection as get_collection
from penstock.compat.v1._graph import get_default_graph as get_default_graph
from penstock.compat.v1._graph import gradients as gradients
from penstock.compat.v1._graph import group as group
from penstock.compat.v1._graph import no_op as no_op
from penstock.compat.v1._graph import placeholder as placeholder
from penstock.compat.v1._graph import placeholder_with_default as placeholder_with_default
from penstock.compat.v1._graph import reset_default_graph as reset_default_graph
from penstock.compat.v1._session import InteractiveSession as InteractiveSession
from penstock.compat.v1._session import Session as Session
from penstock.compat.v1._session import get_default_session as get_default_session
from penstock.compat.v1._variables import AUTO_REUSE as AUTO_REUSE
from penstock.compat.v1._variables import assign as assign
from penstock.compat.v1._variables import assign_add as assign_add
from penstock.compat.v1._variables import assign_sub as assign_sub
from penstock.compat.v1._variables import get_variable as get_variable
from penstock.compat.v1._variables import get_variable_scope as get_variable_scope
from penstock.compat.v1._variables import global_variables as global_variables
from penstock.compat.v1._variables import global_variables_initializer as global_variables_initializer
from penstock.compat.v1._variables import initialize_all_variables as initialize_all_variables
from penstock.compat.v1._variables import local_variables_initializer as local_variables_initializer
from penstock.compat.v1._variables import to_float as to_float
from penstock.compat.v1._variables import trainable_variables as trainable_variables
from penstock.compat.v1._variables import variable_scope as variable_scope
from penstock.compat.v1._variables import variables_initializer as variables_initializer
from penstock.initializers import GlorotUniform as glorot_uniform_initializer
from penstock.initializers import Ones as ones_initializer
from penstock.initializers import Zeros as zeros_initializer

__all__ = ["glorot_uniform_initializer", "ones_initializer", "zeros_initializer"]


def __getattr__(name: str) -> object:
    # Names that version 2 did not change.
    import penstock

    return getattr(penstock, name)
