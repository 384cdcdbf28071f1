/* Pulser as a congestion control in BPF: DCTCP that brakes when a switch notifies it of an incast (ANCS '19 section III).
 *
 * The notification is the first bit of the flags of IPv4, which the kernel ignores. A program at each host's interface (tcx)
 * therefore reads it from data, and the echo, a reserved bit of TCP, from acknowledgements; another program writes the echo. They
 * and the congestion control share a table of connections.
 *
 * Details that the paper leaves open are the same as in the simulation (crates/transport/src/congestion/pulser.rs). */
#include "dctcp.h"

#include <linux/if_ether.h>
#include <linux/in.h>
#include <linux/ip.h>
#include <bpf/bpf_endian.h>

/* Configuration, written by the loader (crates/testbed/src/mapping.rs). */
const volatile struct {
	__u32 safe_window;  /* cwnd while the brake is on, in segments */
	__u32 clean_window; /* whether a window without the signal releases the brake, rather than an acknowledgement */
	__u32 by_ece;       /* whether ECE is the signal, and has no other effect, as in the authors' released testbed */
} told = { .safe_window = 4 };

/* Addresses and ports of a connection at one of its ends. */
struct end {
	__be32 here, there;
	__be16 port_here, port_there;
};

struct notices {
	__u32 seen;  /* whether the last data received had the notification */
	__u32 echo;  /* whether acknowledgements echo it */
	__u32 heard; /* whether the last acknowledgement received had the echo */
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 65536);
	__type(key, struct end);
	__type(value, struct notices);
} connections SEC(".maps");

struct state {
	struct dctcp dctcp;
	__u32 saved;     /* cwnd to return to; zero while the brake is off */
	__u32 sent;      /* snd_nxt at the last acknowledgement with the signal */
	__u32 reducing;  /* whether the kernel reduces cwnd to ssthresh (PRR) */
};

struct headers {
	struct iphdr ip;
	struct tcphdr tcp;
};

enum {
	NEXT = -1,             /* TCX_NEXT, which older headers lack */
	NOTIFICATION = 0x8000, /* RFC 791 section 3.1: the reserved flag */
	ECHO = 0x0200,         /* in the 13th and 14th byte of TCP: a reserved bit, next to AE (RFC 9293 section 3.1) */
};

static __always_inline bool read_headers(struct __sk_buff *skb, struct headers *h)
{
	return skb->protocol == bpf_htons(ETH_P_IP) && bpf_skb_load_bytes(skb, ETH_HLEN, h, sizeof(*h)) == 0 &&
	       h->ip.protocol == IPPROTO_TCP && h->ip.ihl == 5;
}

/* Returns the 13th and 14th byte of a TCP header. */
static __always_inline __be16 *flags_of(struct tcphdr *tcp)
{
	return (__be16 *)((__u8 *)tcp + 12);
}

SEC("tcx/ingress")
int incast_ingress(struct __sk_buff *skb)
{
	struct headers h;

	if (!read_headers(skb, &h))
		return NEXT;
	struct end end = { h.ip.daddr, h.ip.saddr, h.tcp.dest, h.tcp.source };
	struct notices none = {}, *notices = bpf_map_lookup_elem(&connections, &end);

	if (!notices) {
		bpf_map_update_elem(&connections, &end, &none, BPF_NOEXIST);
		notices = bpf_map_lookup_elem(&connections, &end);
	}
	if (!notices)
		return NEXT;
	if (bpf_ntohs(h.ip.tot_len) > sizeof(h.ip) + h.tcp.doff * 4)
		notices->seen = (h.ip.frag_off & bpf_htons(NOTIFICATION)) != 0;
	if (h.tcp.ack)
		notices->heard = (*flags_of(&h.tcp) & bpf_htons(ECHO)) != 0;
	return NEXT;
}

SEC("tcx/egress")
int incast_egress(struct __sk_buff *skb)
{
	struct headers h;

	if (!read_headers(skb, &h))
		return NEXT;
	struct end end = { h.ip.saddr, h.ip.daddr, h.tcp.source, h.tcp.dest };
	struct notices *notices = bpf_map_lookup_elem(&connections, &end);

	if (!notices || !notices->echo)
		return NEXT;
	__be16 old = *flags_of(&h.tcp), new = old | bpf_htons(ECHO);
	__u32 at = ETH_HLEN + sizeof(h.ip);

	bpf_l4_csum_replace(skb, at + 16, old, new, sizeof(new));
	bpf_skb_store_bytes(skb, at + 12, &new, sizeof(new), 0);
	return NEXT;
}

static __always_inline struct notices *notices_of(struct sock *sk)
{
	struct sock_common *c = &sk->__sk_common;
	struct end end = { c->skc_rcv_saddr, c->skc_daddr, bpf_htons(c->skc_num), c->skc_dport };

	return bpf_map_lookup_elem(&connections, &end);
}

static __always_inline __u32 at_most(__u32 a, __u32 b)
{
	return a < b ? a : b;
}

/* Returns the window that may be used: cwnd, or the safe window if the brake keeps cwnd above it. */
static __always_inline __u32 window(struct tcp_sock *tp, struct state *s)
{
	return s->saved ? at_most(tp->snd_cwnd, told.safe_window) : tp->snd_cwnd;
}

/* Prevents sending beyond the safe window. While more is in flight, cwnd equals it, because the kernel's reduction (PRR)
 * starts from cwnd; from a smaller one it would send a packet for each that is delivered. */
static __always_inline void hold(struct tcp_sock *tp, struct state *s)
{
	__u32 in_flight = tp->packets_out + tp->retrans_out - tp->sacked_out - tp->lost_out;

	if (s->reducing)
		tp->snd_ssthresh = at_most(tp->snd_ssthresh, told.safe_window);
	else
		tp->snd_cwnd = at_most(tp->snd_cwnd, at_least(told.safe_window, in_flight));
}

static __always_inline void let_go(struct tcp_sock *tp, struct state *s)
{
	tp->snd_cwnd = s->saved;
	if (s->reducing)
		tp->snd_ssthresh = s->saved;
	s->saved = 0;
}

/* Section III-B: the window is saved once, and restored when acknowledgements have no signal. */
static __always_inline void steer(struct tcp_sock *tp, struct state *s, bool signalled)
{
	if (signalled) {
		s->sent = tp->snd_nxt;
		if (!s->saved) {
			s->saved = at_least(s->reducing ? tp->snd_ssthresh : tp->snd_cwnd, 1);
			if (told.by_ece)
				tp->snd_ssthresh = told.safe_window;
		}
	} else if (s->saved && (!told.clean_window || (__s32)(tp->snd_una - s->sent) >= 0)) {
		let_go(tp, s);
	}
	if (s->saved)
		hold(tp, s);
}

SEC("struct_ops")
void BPF_PROG(pulser_init, struct sock *sk)
{
	struct notices *notices = notices_of(sk), none = {};
	struct state *s = remembered(sk);

	/* An earlier connection may have had these ports. */
	if (notices)
		*notices = none;
	begin(tcp(sk), &s->dctcp);
	s->saved = s->sent = s->reducing = 0;
	need_ecn(sk);
}

SEC("struct_ops")
void BPF_PROG(pulser_in_ack_event, struct sock *sk, __u32 flags)
{
	struct notices *notices = notices_of(sk);
	struct state *s = remembered(sk);
	bool heard = notices && notices->heard;

	steer(tcp(sk), s, told.by_ece ? (flags & CA_ACK_ECE) != 0 : heard);
	hear(sk, &s->dctcp);
}

/* Marks change alpha and cut cwnd while the brake is on, too; the saved window is unaffected. */
SEC("struct_ops")
__u32 BPF_PROG(pulser_ssthresh, struct sock *sk)
{
	struct state *s = remembered(sk);

	return told.by_ece ? told.safe_window : cut(&s->dctcp, window(tcp(sk), s));
}

SEC("struct_ops")
void BPF_PROG(pulser_cwnd_event, struct sock *sk, int event)
{
	struct state *s = remembered(sk);

	if (event == CA_EVENT_LOSS)
		halve(tcp(sk), &s->dctcp, window(tcp(sk), s));
	/* A timeout, and a restart after idleness, discard the saved window. */
	if (event == CA_EVENT_LOSS || event == CA_EVENT_CWND_RESTART)
		s->saved = 0;
	if (event != CA_EVENT_ECN_IS_CE && event != CA_EVENT_ECN_NO_CE)
		return;
	struct notices *notices = notices_of(sk);

	/* Section III-B: the echo is per packet, as that of CE. */
	see(sk, &s->dctcp, event == CA_EVENT_ECN_IS_CE, notices && notices->seen != notices->echo);
	if (notices)
		notices->echo = notices->seen;
}

/* A loss halves the saved window, too. */
SEC("struct_ops")
void BPF_PROG(pulser_set_state, struct sock *sk, __u8 next)
{
	struct state *s = remembered(sk);

	s->reducing = next == TCP_CA_CWR || next == TCP_CA_Recovery;
	if (next != TCP_CA_Recovery)
		return;
	halve(tcp(sk), &s->dctcp, window(tcp(sk), s));
	if (s->saved)
		s->saved = at_least(s->saved >> 1, LEAST_WINDOW);
}

SEC("struct_ops")
__u32 BPF_PROG(pulser_undo_cwnd, struct sock *sk)
{
	struct state *s = remembered(sk);

	return at_least(tcp(sk)->snd_cwnd, s->dctcp.undo_cwnd);
}

SEC("struct_ops")
void BPF_PROG(pulser_cong_avoid, struct sock *sk, __u32 ack, __u32 acked)
{
	struct state *s = remembered(sk);

	if (!s->saved)
		tcp_reno_cong_avoid(sk, ack, acked);
}

SEC(".struct_ops.link")
struct tcp_congestion_ops control = {
	.init = (void *)pulser_init,
	.ssthresh = (void *)pulser_ssthresh,
	.cong_avoid = (void *)pulser_cong_avoid,
	.set_state = (void *)pulser_set_state,
	.cwnd_event = (void *)pulser_cwnd_event,
	.in_ack_event = (void *)pulser_in_ack_event,
	.undo_cwnd = (void *)pulser_undo_cwnd,
	.flags = TCP_CONG_NON_RESTRICTED | TCP_CONG_NEEDS_ECN,
	.name = NAME,
};
