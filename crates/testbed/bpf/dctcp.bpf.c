/* DCTCP (RFC 8257) for kernels without it, as a congestion control in BPF (struct_ops). */
#include "dctcp.h"

SEC("struct_ops")
void BPF_PROG(dctcp_init, struct sock *sk)
{
	begin(tcp(sk), remembered(sk));
	need_ecn(sk);
}

SEC("struct_ops")
__u32 BPF_PROG(dctcp_ssthresh, struct sock *sk)
{
	return cut(remembered(sk), tcp(sk)->snd_cwnd);
}

SEC("struct_ops")
void BPF_PROG(dctcp_in_ack_event, struct sock *sk, __u32 flags)
{
	hear(sk, remembered(sk));
}

SEC("struct_ops")
void BPF_PROG(dctcp_cwnd_event, struct sock *sk, int event)
{
	struct tcp_sock *tp = tcp(sk);

	if (event == CA_EVENT_LOSS)
		halve(tp, remembered(sk), tp->snd_cwnd);
	if (event == CA_EVENT_ECN_IS_CE || event == CA_EVENT_ECN_NO_CE)
		see(sk, remembered(sk), event == CA_EVENT_ECN_IS_CE, false);
}

SEC("struct_ops")
void BPF_PROG(dctcp_set_state, struct sock *sk, __u8 next)
{
	if (next == TCP_CA_Recovery)
		halve(tcp(sk), remembered(sk), tcp(sk)->snd_cwnd);
}

SEC("struct_ops")
__u32 BPF_PROG(dctcp_undo_cwnd, struct sock *sk)
{
	return at_least(tcp(sk)->snd_cwnd, ((struct dctcp *)remembered(sk))->undo_cwnd);
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
