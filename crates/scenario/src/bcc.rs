//! Computes BCC's thresholds on the shared pool from the rest of the scenario (INFOCOM '20, §IV-B and §IV-C).

use shallows_core::{Bytes, Duration, Rate};
use shallows_switch::buffer::Policy;

use crate::ports::site::Site;
use crate::quantity::{Automatic, Time};
use crate::spec::Bcc;

/// Pool backlogs at which marking starts (`kmin`) and at which every packet is marked (`kmax`), and how they were computed.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Thresholds {
    pub(crate) kmin: Bytes,
    pub(crate) kmax: Bytes,
    /// Formulas with their inputs; `None` if the scenario gives both thresholds.
    pub(crate) formula: Option<String>,
}

/// Inputs of the formulas.
struct Inputs {
    /// C, the highest rate among the pool's ports: the fastest port needs the largest reserve.
    rate: Rate,
    /// N, the number of ports that share the pool.
    ports: usize,
    /// B, the size of the pool.
    pool: Bytes,
    alpha: f64,
    /// S_min, the reserved bytes of a port, which only that port can use.
    reserved: Bytes,
    rtt: Duration,
}

/// Returns the thresholds of the marker `bcc` at a port, or the reason why they cannot be computed.
pub(crate) fn thresholds(bcc: &Bcc, site: &Site<'_>) -> Result<Thresholds, String> {
    let inputs = inputs(bcc, site)?;
    let in_bytes = |depth: crate::quantity::Depth| depth.in_bytes(site.packet, site.link.rate);
    let mut formula = Vec::new();
    let kmax = match bcc.kmax {
        Automatic::Is(depth) => in_bytes(depth),
        Automatic::Auto => kmax(bcc, &inputs, &mut formula)?,
    };
    let kmin = match bcc.kmin {
        Automatic::Is(depth) => in_bytes(depth),
        Automatic::Auto => kmin(bcc, &inputs, kmax, &mut formula)?,
    };
    if kmin > kmax {
        return Err(format!("kmin must be at most kmax = {kmax}, got {kmin}"));
    }
    let formula = (!formula.is_empty()).then(|| formula.join("; "));
    Ok(Thresholds { kmin, kmax, formula })
}

fn inputs(bcc: &Bcc, site: &Site<'_>) -> Result<Inputs, String> {
    let (network, link) = (site.network, site.link);
    let buffer = &network.buffers[link.from.0 as usize];
    let Policy::DynamicThreshold(policy) = &buffer.policy else {
        return Err(
            "a bcc marker needs switch.buffer of kind \"dynamic-threshold\"; for any other buffer, use a marker of \
             kind \"threshold\""
                .to_owned(),
        );
    };
    let same_pool =
        || network.links.iter().filter(|other| other.from == link.from && other.pool == link.pool);
    let rtt = bcc.rtt.or(Time(site.base_rtt)).0;
    Ok(Inputs {
        rate: same_pool().map(|other| other.rate).max().unwrap_or(link.rate),
        ports: same_pool().count(),
        pool: buffer.pools[link.pool],
        alpha: policy.alpha,
        reserved: link.reserved,
        rtt,
    })
}

/// Returns K_max, the backlog at or above which every packet is marked: K_max = B − B_R/α with B_R = C·RTT·(1 + λ) − S_min (BCC Eq. 3 and
/// 4). [`Inputs`] has B, α, C, RTT and S_min; `bcc` has λ.
fn kmax(bcc: &Bcc, inputs: &Inputs, formula: &mut Vec<String>) -> Result<Bytes, String> {
    let Inputs { rate, pool, alpha, reserved, rtt, .. } = *inputs;
    if bcc.lambda < 0.0 || !bcc.lambda.is_finite() {
        return Err(format!(
            "lambda, a share of C·RTT, must be a finite number of at least 0, got {}",
            bcc.lambda
        ));
    }
    let needed = rate.bytes_in(rtt).scale(1.0 + bcc.lambda);
    let headroom = needed.saturating_sub(reserved);
    let behind = headroom.scale(1.0 / alpha);
    if behind >= pool {
        return Err(format!(
            "B_R/alpha must be less than the pool of {pool}, got {behind} (B_R = C·RTT·(1 + lambda) − S_min = {headroom}, with C = \
             {rate}, RTT = {rtt}, S_min = {reserved}); use a larger pool or alpha, or a smaller lambda, or set kmax"
        ));
    }
    let kmax = pool - behind;
    formula.push(format!(
        "Kmax = B − B_R/α = {pool} − {headroom}/{alpha} = {kmax}, with B_R = C·RTT·(1+λ) − S_min = {rate}·{rtt}·(1+{}) − \
         {reserved} = {headroom}",
        bcc.lambda
    ));
    Ok(kmax)
}

/// Returns K_min, the backlog up to which nothing is marked: K_min = K_max − C·N·h (BCC §IV-C). [`Inputs`] has C and N; `bcc` has h.
fn kmin(bcc: &Bcc, inputs: &Inputs, kmax: Bytes, formula: &mut Vec<String>) -> Result<Bytes, String> {
    let Inputs { rate, ports, .. } = *inputs;
    let span = Bytes(rate.bytes_in(bcc.h.0).0 * ports as u64);
    if span > kmax {
        return Err(format!(
            "C·N·h must be at most kmax = {kmax}, got {span} (C = {rate}, N = {ports} ports, h = {}); use a smaller \
             h, or set kmin",
            bcc.h
        ));
    }
    let kmin = kmax - span;
    formula.push(format!("Kmin = Kmax − C·N·h = {kmax} − {rate}·{ports}·{} = {kmin}", bcc.h));
    Ok(kmin)
}
