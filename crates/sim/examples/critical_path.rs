//! Upper bound on how much several cores can speed up a run, computed from its partitions and windows (for `benches/scale.py`).
//!
//! Usage: `critical_path SCENARIO LINKS CORES,CORES,… [KEY=VALUE…]`. Each partition of the network has at most LINKS directed links; a
//! partition with a single switch may have more. Prints JSON: the speed-up over one core, by number of cores.

use std::path::Path;

use shallows_sim::{Division, Simulation, nowhere};

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [scenario, links, cores, sets @ ..] = &arguments[..] else {
        eprintln!("usage: critical_path SCENARIO LINKS CORES,CORES,… [KEY=VALUE…]");
        std::process::exit(2);
    };
    if let Err(error) = tell(Path::new(scenario), links, cores, sets) {
        eprintln!("{error}");
        std::process::exit(1);
    }
}

fn tell(
    scenario: &Path,
    links: &str,
    cores: &str,
    sets: &[String],
) -> Result<(), Box<dyn std::error::Error>> {
    let set = |set: &String| {
        let (key, value) = set.split_once('=').ok_or_else(|| format!("{set} is no KEY=VALUE"))?;
        Ok::<_, String>((key.to_owned(), value.to_owned()))
    };
    let sets: Vec<(String, String)> = sets.iter().map(set).collect::<Result<_, _>>()?;
    let folder = scenario.parent().unwrap_or(Path::new(""));
    let read = |file: &str| std::fs::read_to_string(folder.join(file)).map_err(|error| error.to_string());
    let text = std::fs::read_to_string(scenario)?;
    let experiment = shallows_scenario::parse(&text, &scenario.to_string_lossy(), &read, &sets, None)?;
    let division = Division::in_pieces(&experiment, 1, links.parse()?).map_err(|why| why.to_string())?;
    let cores: Vec<u32> = cores.split(',').map(str::parse).collect::<Result<_, _>>()?;
    let mut simulation = Simulation::of_partitions(experiment, division, nowhere)?;
    simulation.follow_critical_path(&cores);
    simulation.advance(u64::MAX);
    let each = simulation.speed_ups().into_iter().map(|(cores, faster)| format!("\"{cores}\": {faster:.3}"));
    println!("{{{}}}", each.collect::<Vec<_>>().join(", "));
    Ok(())
}
