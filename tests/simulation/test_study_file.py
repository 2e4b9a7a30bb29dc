from dtrbandit.simulation import study_file, study_toml
from dtrbandit.simulation.inputs import Inputs


def test_studies_are_still_read_by_the_former_name() -> None:
    assert study_file.read_study is study_toml.read_study
    assert study_file.StudyFile is Inputs
