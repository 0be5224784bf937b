import plistlib
import tomllib
from pathlib import Path

import pytest

from memd.base.errors import InvalidStateError
from memd.base.paths import Paths, unit_name
from memd.cli.daemon import units

HOME = {"HOME": "/home/ada", "XDG_RUNTIME_DIR": "/run/user/7"}
ROOT = Path(__file__).resolve().parents[3]
COMMAND = Path("/home/ada/.local/bin/memd")


def places(profile: str = "default", socket: str = "/run/user/7/memd/memd.sock") -> Paths:
    under = Paths.resolve(profile, home=Path("/home/ada/.local/share"), environ={})
    return Paths(
        profile=profile,
        config_file=under.config_file,
        data_dir=Path("/home/ada/.local/share/memd"),
        state_dir=Path("/home/ada/.local/state/memd"),
        runtime_dir=Path(socket).parent,
        database=under.database,
        lock=under.lock,
        socket=Path(socket),
        usage_dir=Path(socket).with_name("usage"),
        keys_dir=under.keys_dir,
        model_dir=under.model_dir,
    )


def test_for_the_usual_places_the_rendered_units_are_the_shipped_ones_but_for_the_command() -> None:
    rendered = units.systemd(COMMAND, places(), HOME, sandbox=True)
    for name, text in rendered.items():
        shipped = units.read_shipped(f"systemd/{name}")
        assert text == shipped.replace("%h/.local/bin/memd", str(COMMAND))
    assert set(rendered) == {"memd.service", "memd.socket", "memd.service.d/10-sandbox.conf"}


def test_another_profile_has_units_of_its_own() -> None:
    rendered = units.systemd(
        COMMAND, places("work", "/run/user/7/memd/memd-work.sock"), HOME, sandbox=True
    )
    assert set(rendered) == {
        "memd@work.service",
        "memd@work.socket",
        "memd@work.service.d/10-sandbox.conf",
    }
    service = rendered["memd@work.service"]
    assert f"ExecStart={COMMAND} serve --profile work" in service
    assert "Requires=memd@work.socket" in service
    assert "Also=memd@work.socket" in service
    assert "ListenStream=%t/memd/memd-work.sock" in rendered["memd@work.socket"]
    assert "memd.socket" not in service


def test_what_an_instance_is_made_of_is_what_is_taken_away() -> None:
    for profile in ("default", "work"):
        rendered = units.systemd(COMMAND, places(profile), HOME, sandbox=True)
        assert set(units.unit_files(profile)[unit_name(profile)]) == set(rendered)
    assert list(units.unit_files("default")) == ["memd"]


def test_a_moved_home_is_carried_into_the_service() -> None:
    environ = {**HOME, "MEMD_HOME": "/srv/my memd", "MEMD_MODEL_DIR": "/srv/model"}
    service = units.systemd(COMMAND, places(), environ, sandbox=False)["memd.service"]
    assert (
        'Environment="MEMD_HOME=/srv/my memd"\nEnvironment=MEMD_MODEL_DIR=/srv/model\n' in service
    )


def test_a_command_with_a_space_is_quoted() -> None:
    service = units.systemd(Path("/a b/memd"), places(), HOME, sandbox=False)["memd.service"]
    assert 'ExecStart="/a b/memd" serve\n' in service


def test_a_percent_sign_in_a_path_is_no_specifier() -> None:
    rendered = units.systemd(COMMAND, places(socket="/x/50%/m.sock"), HOME, sandbox=False)
    assert "ListenStream=/x/50%%/m.sock\n" in rendered["memd.socket"]
    environ = {**HOME, "MEMD_HOME": "/srv/50%h"}
    service = units.systemd(Path("/opt/50%h/memd"), places(), environ, sandbox=False)
    assert "ExecStart=/opt/50%%h/memd serve\n" in service["memd.service"]
    assert "Environment=MEMD_HOME=/srv/50%%h\n" in service["memd.service"]


def test_a_relative_home_is_absolute_in_the_agent_of_launchd() -> None:
    (text,) = units.launchd(COMMAND, places(), {"MEMD_HOME": "here"}, log=Path("/l")).values()
    home = plistlib.loads(text.encode())["EnvironmentVariables"]["MEMD_HOME"]
    assert home == str(Path.cwd() / "here")


def test_the_agent_of_launchd_says_only_absolute_paths() -> None:
    log = Path("/Users/ada/Library/Logs/memd/memd.log")
    files = units.launchd(COMMAND, places(), {"MEMD_HOME": "/x"}, log=log)
    agent = plistlib.loads(files["dev.memd.memd.plist"].encode())
    assert agent["ProgramArguments"] == [str(COMMAND), "serve"]
    assert agent["StandardOutPath"] == agent["StandardErrorPath"] == str(log)
    assert agent["Sockets"]["memd"]["SockPathName"] == "/run/user/7/memd/memd.sock"
    assert agent["EnvironmentVariables"]["MEMD_HOME"] == "/x"
    assert "@" not in files["dev.memd.memd.plist"]


def test_another_profile_has_an_agent_of_launchd_of_its_own() -> None:
    paths = places("work", "/run/user/7/memd/memd-work.sock")
    ((name, text),) = units.launchd(COMMAND, paths, {}, log=Path("/l")).items()
    agent = plistlib.loads(text.encode())
    assert (name, agent["Label"]) == ("dev.memd.memd-work.plist", "dev.memd.memd-work")
    assert agent["ProgramArguments"] == [str(COMMAND), "serve", "--profile", "work"]
    assert agent["Sockets"]["memd"]["SockPathName"] == str(paths.socket)


def test_no_library_of_the_service_reports_to_its_maker() -> None:
    service = units.systemd(COMMAND, places(), HOME, sandbox=False)["memd.service"]
    assert "\nEnvironment=ORT_DISABLE_TELEMETRY=1\n" in service
    (text,) = units.launchd(COMMAND, places(), {}, log=Path("/l")).values()
    assert plistlib.loads(text.encode())["EnvironmentVariables"]["ORT_DISABLE_TELEMETRY"] == "1"


def test_a_wheel_carries_the_service_files_where_they_are_looked_for() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    carried = project["tool"]["hatch"]["build"]["targets"]["wheel"]["force-include"]
    looked_for = Path(units.__file__).parents[1] / "units"
    assert {ROOT / target for target in carried.values()} == {
        looked_for / "systemd",
        looked_for / "launchd",
    }
    for source in carried:
        assert all(units.read_shipped(str(path.relative_to(ROOT))) for path in files(ROOT / source))


def files(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


def test_a_service_file_that_is_missing_is_named() -> None:
    with pytest.raises(InvalidStateError, match="no-such"):
        units.read_shipped("systemd/no-such.service")
