"""What the paper proves or mentions and does not show: delay, arms, stages, margin, embedding, wrong features."""

from dtrbandit.reproduce.extensions.arms import EXTENSION as ARMS
from dtrbandit.reproduce.extensions.delay import EXTENSION as DELAY
from dtrbandit.reproduce.extensions.extension import Extension, Setting
from dtrbandit.reproduce.extensions.features import EXTENSION as FEATURES
from dtrbandit.reproduce.extensions.margin import EXTENSION as MARGIN
from dtrbandit.reproduce.extensions.one_stage import EXTENSION as ONE_STAGE
from dtrbandit.reproduce.extensions.stages import EXTENSION as STAGES

EXTENSIONS = {extension.name: extension for extension in (DELAY, ARMS, STAGES, MARGIN, ONE_STAGE, FEATURES)}

__all__ = ["EXTENSIONS", "Extension", "Setting"]
