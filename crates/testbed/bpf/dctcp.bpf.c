/* DCTCP (RFC 8257) as the congestion control of a kernel that has none, in BPF (struct_ops).
 *
 * Both sides run it: the receiver echoes exactly what it sees (section 3.2), the sender cuts in proportion (section 3.3).
 * Numbers are whole 1,024ths, as the kernel cannot have others. */
#include "tcp.h"

enum { ONE = 1024, GAIN_SHIFT = 4, LEAST_WINDOW = 2 };

/* What a connection remembers, in the place that the kernel gives to congestion controls. */
struct state {
	__u32 alpha;         /* DCTCP.Alpha */
	__u32 window_end;    /* DCTCP.WindowEnd */
	__u32 delivered, delivered_ce; /* when the window began */
	__u32 prior_rcv_nxt; /* what had been received when a packet last told CE or not */
	__u32 ce;            /* DCTCP.CE */
	__u32 undo_cwnd;
};

static __always_inline struct tcp_sock *tcp(struct sock *sk)
{
	return (struct tcp_sock *)sk;
}

static __always_inline struct state *state(struct sock *sk)
{
	return (struct state *)((struct inet_connection_sock *)sk)->icsk_ca_priv;
}

static __always_inline void begin_window(struct tcp_sock *tp, struct state *s)
{
	s->window_end = tp->snd_nxt;
	s->delivered = tp->delivered;
	s->delivered_ce = tp->delivered_ce;
}

static __always_inline __u32 at_least(__u32 a, __u32 b)
{
	return a > b ? a : b;
}

SEC("struct_ops")
void BPF_PROG(dctcp_init, struct sock *sk)
{
	struct tcp_sock *tp = tcp(sk);
	struct state *s = state(sk);

	s->alpha = ONE; /* section 3.3: SHOULD be 1 */
	s->prior_rcv_nxt = tp->rcv_nxt;
	s->ce = 0;
	s->undo_cwnd = 0;
	begin_window(tp, s);
}

/* Section 3.3, step 9: cwnd = cwnd * (1 - Alpha / 2), once per window, which the kernel sees to. */
SEC("struct_ops")
__u32 BPF_PROG(dctcp_ssthresh, struct sock *sk)
{
	struct tcp_sock *tp = tcp(sk);
	struct state *s = state(sk);
	__u32 cwnd = tp->snd_cwnd;

	s->undo_cwnd = cwnd;
	return at_least(cwnd - (__u32)(((__u64)cwnd * s->alpha) >> 11), LEAST_WINDOW);
}

/* Section 3.3, steps 1 to 8: Alpha = Alpha * (1 - g) + g * M, at the end of each window of data. */
SEC("struct_ops")
void BPF_PROG(dctcp_in_ack_event, struct sock *sk, __u32 flags)
{
	struct tcp_sock *tp = tcp(sk);
	struct state *s = state(sk);

	if ((__s32)(tp->snd_una - s->window_end) < 0)
		return;
	__u32 delivered = tp->delivered - s->delivered;
	__u32 marked = tp->delivered_ce - s->delivered_ce;
	__u32 alpha = s->alpha;
	__u32 decay = alpha >> GAIN_SHIFT;

	/* What is too little to decay vanishes. */
	alpha = decay ? alpha - decay : 0;
	if (marked)
		alpha += (__u32)(((__u64)marked << (10 - GAIN_SHIFT)) / at_least(delivered, 1));
	s->alpha = alpha < ONE ? alpha : ONE;
	begin_window(tp, s);
}

static __always_inline void echo(struct tcp_sock *tp, __u32 ce)
{
	if (ce)
		tp->ecn_flags |= TCP_ECN_DEMAND_CWR;
	else
		tp->ecn_flags &= ~TCP_ECN_DEMAND_CWR;
}

/* Section 3.5: a loss is answered as by any TCP. */
static __always_inline void halve(struct tcp_sock *tp, struct state *s)
{
	s->undo_cwnd = tp->snd_cwnd;
	tp->snd_ssthresh = at_least(tp->snd_cwnd >> 1, LEAST_WINDOW);
}

SEC("struct_ops")
void BPF_PROG(dctcp_cwnd_event, struct sock *sk, int event)
{
	struct inet_connection_sock *icsk = (struct inet_connection_sock *)sk;
	struct tcp_sock *tp = tcp(sk);
	struct state *s = state(sk);

	if (event == CA_EVENT_LOSS)
		halve(tp, s);
	if (event != CA_EVENT_ECN_IS_CE && event != CA_EVENT_ECN_NO_CE)
		return;
	__u32 ce = event == CA_EVENT_ECN_IS_CE;

	/* Section 3.2, figure 1: where marks begin or end, what came before is acknowledged at once, with the old echo. */
	if (s->ce != ce) {
		if (icsk->icsk_ack.pending & ICSK_ACK_TIMER) {
			echo(tp, s->ce);
			bpf_tcp_send_ack(tp, s->prior_rcv_nxt);
		}
		icsk->icsk_ack.pending |= ICSK_ACK_NOW;
	}
	s->prior_rcv_nxt = tp->rcv_nxt;
	s->ce = ce;
	echo(tp, ce);
}

SEC("struct_ops")
void BPF_PROG(dctcp_set_state, struct sock *sk, __u8 next)
{
	if (next == TCP_CA_RECOVERY)
		halve(tcp(sk), state(sk));
}

SEC("struct_ops")
__u32 BPF_PROG(dctcp_undo_cwnd, struct sock *sk)
{
	return at_least(tcp(sk)->snd_cwnd, state(sk)->undo_cwnd);
}

SEC("struct_ops")
void BPF_PROG(dctcp_cong_avoid, struct sock *sk, __u32 ack, __u32 acked)
{
	tcp_reno_cong_avoid(sk, ack, acked);
}

SEC(".struct_ops.link")
struct tcp_congestion_ops control = {
	.init = (void *)dctcp_init,
	.ssthresh = (void *)dctcp_ssthresh,
	.cong_avoid = (void *)dctcp_cong_avoid,
	.set_state = (void *)dctcp_set_state,
	.cwnd_event = (void *)dctcp_cwnd_event,
	.in_ack_event = (void *)dctcp_in_ack_event,
	.undo_cwnd = (void *)dctcp_undo_cwnd,
	.flags = TCP_CONG_NON_RESTRICTED | TCP_CONG_NEEDS_ECN,
	.name = NAME,
};
