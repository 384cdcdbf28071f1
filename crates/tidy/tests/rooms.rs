//! Tests of the rooms of the Python package and of the crate `sim`: a room imports only from itself and from the rooms below it, also
//! inside functions.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use tidy::{complain, files, read, root, short};

/// Rooms of the Python package, from the bottom up. Modules without a room are below all of them.
const ORDER: [&str; 11] = [
    "",
    "runs",
    "series",
    "sweeps",
    "foreign",
    "comparison",
    "figures",
    "reproduction",
    "reports",
    "advisor",
    "cli",
];

/// Modules above all rooms: the package itself exports public names, and `__main__` starts the command line.
const ABOVE_ALL: [&str; 2] = ["shallows", "shallows.__main__"];

/// The rooms of `crates/sim`, from the bottom up.
const SIM: [&str; 4] = ["network", "hosts", "traffic", "run"];

#[test]
fn no_room_of_the_simulation_knows_one_above_it() {
    let level = |module: &str| {
        let room = module.split("::").next().unwrap_or_default();
        SIM.iter().position(|known| *known == room)
    };
    let pairs = tidy::circles::between_rooms("sim");
    let mut problems = Vec::new();
    for (module, needed) in pairs.iter().filter(|(module, _)| !module.is_empty()) {
        match (level(module), level(needed)) {
            (Some(here), Some(there)) if there < here => {}
            (Some(_), Some(_)) => problems.push(format!("{module} knows {needed}, which is above it")),
            _ => problems.push(format!("tidy/rooms.rs does not say where {module} or {needed} is")),
        }
    }
    // Each room but the first must use one below it, otherwise the search found nothing.
    for room in &SIM[1..] {
        assert!(pairs.iter().any(|(module, _)| module.starts_with(room)), "{room} knows no other");
    }
    complain(&problems);
}

#[test]
fn no_room_imports_from_one_above_it() {
    let modules = modules();
    assert!(modules.len() > 70, "only {} modules were found", modules.len());
    let mut problems = Vec::new();
    for (module, (path, text)) in &modules {
        if !ABOVE_ALL.contains(&module.as_str()) {
            problems.extend(upwards(module, text, &modules).map(|up| format!("{path}: {up}")));
        }
    }
    complain(&problems);
}

#[test]
fn every_folder_of_python_is_a_room() {
    let folder = root().join("python/shallows");
    let parents: BTreeSet<_> = files(&folder, &["py"])
        .iter()
        .filter_map(|path| {
            path.strip_prefix(&folder).ok()?.parent()?.iter().next()?.to_str().map(str::to_owned)
        })
        .collect();
    let unknown = parents.iter().filter(|room| !ORDER.contains(&room.as_str()));
    complain(&unknown.map(|room| format!("tidy/rooms.rs does not say where {room} is")).collect::<Vec<_>>());
}

#[test]
fn no_modules_import_each_other() {
    let modules = modules();
    let mut waiting: BTreeMap<&String, Vec<String>> =
        modules.iter().map(|(module, (_, text))| (module, imports(module, text, &modules))).collect();
    // A module with no remaining imports belongs to no circle.
    loop {
        let free = |wanted: &Vec<String>| !wanted.iter().any(|name| waiting.contains_key(name));
        let done: Vec<_> = waiting.iter().filter(|(_, wanted)| free(wanted)).map(|(name, _)| *name).collect();
        if done.is_empty() {
            break;
        }
        waiting.retain(|name, _| !done.contains(name));
    }
    complain(
        &waiting
            .keys()
            .map(|name| format!("{name} is in a circle of imports, or above one"))
            .collect::<Vec<_>>(),
    );
}

#[test]
fn an_import_from_a_room_above_is_found_in_every_form() {
    let known = ["shallows.figures", "shallows.figures.style", "shallows.runs.results", "shallows.errors"]
        .map(|name| (name.to_owned(), (String::new(), String::new())));
    let known = BTreeMap::from(known);
    let found = |text: &str| upwards("shallows.runs.results", text, &known).count();
    for forbidden in [
        "from shallows.figures.style import Unit",
        "    from shallows.figures import (\n        style,\n    )",
        "import shallows.figures.style as style",
        "import json, shallows.figures",
        "from shallows import errors, figures",
        "from shallows import (\n    errors,\n    figures as drawn,\n)",
        "if TYPE_CHECKING:\n    from ..figures.style import Unit",
        "from .. import figures",
    ] {
        assert_eq!(found(forbidden), 1, "{forbidden}");
    }
    for allowed in [
        "import shallows as sh",
        "from shallows.errors import figures",
        "from shallows.runs import figures",
        "from . import figures",
        ">>> from shallows.figures import style",
        "# from shallows.figures import style",
    ] {
        assert_eq!(found(allowed), 0, "{allowed}");
    }
}

/// Modules by name, with file and text.
type Modules = BTreeMap<String, (String, String)>;

fn modules() -> Modules {
    let folder = root().join("python");
    let found = files(&folder, &["py"]);
    found.iter().map(|path| (name(path, &folder), (short(path), read(path)))).collect()
}

fn name(path: &Path, folder: &Path) -> String {
    let inside = path.strip_prefix(folder).expect("files are below their folder").with_extension("");
    let parts: Vec<_> =
        inside.iter().filter_map(|part| part.to_str()).filter(|part| *part != "__init__").collect();
    parts.join(".")
}

/// Returns the imports of a module from rooms above it, as messages.
fn upwards(module: &str, text: &str, known: &Modules) -> impl Iterator<Item = String> + use<> {
    let mine = height(module);
    let (module, wanted) = (module.to_owned(), imports(module, text, known));
    wanted
        .into_iter()
        .filter(move |other| height(other) > mine)
        .map(move |other| format!("{module} imports {other}"))
}

/// Returns the position of a module's room in the order.
fn height(module: &str) -> usize {
    let room = module.split('.').nth(1).unwrap_or_default();
    ORDER.iter().position(|known| *known == room).unwrap_or(0)
}

/// Returns the modules of the package that `module` imports, also inside functions.
fn imports(module: &str, text: &str, known: &Modules) -> Vec<String> {
    let mut found = Vec::new();
    let mut lines = text.lines().map(str::trim_start);
    while let Some(line) = lines.next() {
        let mut statement = line.to_owned();
        while statement.contains('(') && !statement.contains(')') && line.starts_with("from ") {
            let Some(next) = lines.next() else { break };
            statement.push_str(next);
        }
        if let Some(names) = statement.strip_prefix("import ") {
            found.extend(names.split(',').map(|name| word(name).to_owned()));
        } else if let Some((from, names)) =
            statement.strip_prefix("from ").and_then(|rest| rest.split_once(" import "))
        {
            let from = absolute(from, module, known);
            for name in names.split([',', '(', ')']).map(word).filter(|name| !name.is_empty()) {
                let inside = format!("{from}.{name}");
                // A room without a known file counts as a module, too: `from shallows import figures`.
                let is_module = known.contains_key(&inside) || from == "shallows" && height(&inside) > 0;
                found.push(if is_module { inside } else { from.clone() });
            }
        }
    }
    found.retain(|name| name.starts_with("shallows."));
    found.sort();
    found.dedup();
    found
}

/// Returns the absolute name of an import. A relative import begins with one point for its own folder, and one more point for each folder
/// above.
fn absolute(from: &str, module: &str, known: &Modules) -> String {
    let points = from.chars().take_while(|c| *c == '.').count();
    if points == 0 {
        return from.to_owned();
    }
    let is_package = known.keys().any(|name| name.starts_with(&format!("{module}.")));
    let parts: Vec<_> = module.split('.').collect();
    let folder = parts[..(parts.len() + usize::from(is_package)).saturating_sub(points)].join(".");
    let rest = &from[points..];
    if rest.is_empty() { folder } else { format!("{folder}.{rest}") }
}

/// Returns the first word of an import, without the new name or the comment that may follow it.
fn word(text: &str) -> &str {
    text.split_whitespace().next().unwrap_or_default()
}
