/* DCTCP (RFC 8257): the functions that other congestion controls share.
 *
 * Both sides run it: the receiver echoes the marks exactly (section 3.2), the sender cuts in proportion (section 3.3).
 * Fractions are whole 1,024ths, since the kernel has no floating point. */
#include "tcp.h"

enum { ONE = 1024, GAIN_SHIFT = 4, LEAST_WINDOW = 2 };

/* State of a connection, in the memory that the kernel provides for congestion controls. */
struct dctcp {
	__u32 alpha;         /* DCTCP.Alpha */
	__u32 window_end;    /* DCTCP.WindowEnd */
	__u32 delivered, delivered_ce; /* at the start of the window */
	__u32 prior_rcv_nxt; /* rcv_nxt at the last ECN event */
	__u32 ce;            /* DCTCP.CE */
	__u32 undo_cwnd;
};

/* Alpha of each connection at the end of its last window, readable by owners of its socket. */
struct {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, __u32);
} alphas SEC(".maps");

static __always_inline struct tcp_sock *tcp(struct sock *sk)
{
	return (struct tcp_sock *)sk;
}

/* Returns the state of a connection. */
static __always_inline void *remembered(struct sock *sk)
{
	return ((struct inet_connection_sock *)sk)->icsk_ca_priv;
}

static __always_inline __u32 at_least(__u32 a, __u32 b)
{
	return a > b ? a : b;
}

static __always_inline void begin_window(struct tcp_sock *tp, struct dctcp *d)
{
	d->window_end = tp->snd_nxt;
	d->delivered = tp->delivered;
	d->delivered_ce = tp->delivered_ce;
}

static __always_inline void begin(struct tcp_sock *tp, struct dctcp *d)
{
	d->alpha = ONE; /* section 3.3: SHOULD be 1 */
	d->prior_rcv_nxt = tp->rcv_nxt;
	d->ce = 0;
	d->undo_cwnd = 0;
	begin_window(tp, d);
}

/* Section 3.3, step 9: cwnd = cwnd * (1 - Alpha / 2); the kernel calls it once per window. */
static __always_inline __u32 cut(struct dctcp *d, __u32 cwnd)
{
	d->undo_cwnd = cwnd;
	return at_least(cwnd - (__u32)(((__u64)cwnd * d->alpha) >> 11), LEAST_WINDOW);
}

/* Section 3.5: the reaction to a loss is that of conventional TCP. */
static __always_inline void halve(struct tcp_sock *tp, struct dctcp *d, __u32 cwnd)
{
	d->undo_cwnd = cwnd;
	tp->snd_ssthresh = at_least(cwnd >> 1, LEAST_WINDOW);
}

/* Section 3.3, steps 1 to 8: Alpha = Alpha * (1 - g) + g * M, at the end of each window of data. */
static __always_inline void hear(struct sock *sk, struct dctcp *d)
{
	struct tcp_sock *tp = tcp(sk);

	if ((__s32)(tp->snd_una - d->window_end) < 0)
		return;
	__u32 delivered = tp->delivered - d->delivered;
	__u32 marked = tp->delivered_ce - d->delivered_ce;
	__u32 alpha = d->alpha;
	__u32 decay = alpha >> GAIN_SHIFT;

	/* Below the resolution of the decay, alpha becomes zero. */
	alpha = decay ? alpha - decay : 0;
	if (marked)
		alpha += (__u32)(((__u64)marked << (10 - GAIN_SHIFT)) / at_least(delivered, 1));
	d->alpha = alpha < ONE ? alpha : ONE;
	begin_window(tp, d);

	__u32 *told = bpf_sk_storage_get(&alphas, sk, 0, BPF_SK_STORAGE_GET_F_CREATE);

	if (told)
		*told = d->alpha;
}

static __always_inline void echo(struct tcp_sock *tp, __u32 ce)
{
	if (ce)
		tp->ecn_flags |= TCP_ECN_DEMAND_CWR;
	else
		tp->ecn_flags &= ~TCP_ECN_DEMAND_CWR;
}

/* Section 3.2, figure 1: when marks begin or end (CE, or another if `changed`), earlier data is acknowledged at once, with the
 * old echo. */
static __always_inline void see(struct sock *sk, struct dctcp *d, __u32 ce, bool changed)
{
	struct inet_connection_sock *icsk = (struct inet_connection_sock *)sk;
	struct tcp_sock *tp = tcp(sk);

	if (d->ce != ce || changed) {
		if (icsk->icsk_ack.pending & ICSK_ACK_TIMER) {
			echo(tp, d->ce);
			bpf_tcp_send_ack(tp, d->prior_rcv_nxt);
		}
		icsk->icsk_ack.pending |= ICSK_ACK_NOW;
	}
	d->prior_rcv_nxt = tp->rcv_nxt;
	d->ce = ce;
	echo(tp, ce);
}
