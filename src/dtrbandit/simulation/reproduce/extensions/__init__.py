"""What the paper proves or mentions and does not show: delay, arms, stages, margin, embedding, wrong features."""

from dtrbandit.simulation.reproduce.extensions.arms import EXTENSION as ARMS
from dtrbandit.simulation.reproduce.extensions.delay import EXTENSION as DELAY
from dtrbandit.simulation.reproduce.extensions.extension import Extension, Setting
from dtrbandit.simulation.reproduce.extensions.features import EXTENSION as FEATURES
from dtrbandit.simulation.reproduce.extensions.margin import EXTENSION as MARGIN
from dtrbandit.simulation.reproduce.extensions.one_stage import EXTENSION as ONE_STAGE
from dtrbandit.simulation.reproduce.extensions.stages import EXTENSION as STAGES

EXTENSIONS = {extension.name: extension for extension in (DELAY, ARMS, STAGES, MARGIN, ONE_STAGE, FEATURES)}

__all__ = ["EXTENSIONS", "Extension", "Setting"]
