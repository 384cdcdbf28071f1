/* ECN*, the papers' regular TCP with ECN, as a congestion control in BPF (struct_ops).
 *
 * All functions are Reno's. The flag that it needs ECN makes the kernel send every packet as ECN-capable, also acknowledgements and
 * retransmissions, unlike with other classic ECN; echoes and reactions to marks follow RFC 3168. */
#include "tcp.h"

SEC("struct_ops")
void BPF_PROG(ecn_star_init, struct sock *sk)
{
	need_ecn(sk);
}

SEC("struct_ops")
__u32 BPF_PROG(ecn_star_ssthresh, struct sock *sk)
{
	return tcp_reno_ssthresh(sk);
}

SEC("struct_ops")
void BPF_PROG(ecn_star_cong_avoid, struct sock *sk, __u32 ack, __u32 acked)
{
	tcp_reno_cong_avoid(sk, ack, acked);
}

SEC("struct_ops")
__u32 BPF_PROG(ecn_star_undo_cwnd, struct sock *sk)
{
	return tcp_reno_undo_cwnd(sk);
}

SEC(".struct_ops.link")
struct tcp_congestion_ops control = {
	.init = (void *)ecn_star_init,
	.ssthresh = (void *)ecn_star_ssthresh,
	.cong_avoid = (void *)ecn_star_cong_avoid,
	.undo_cwnd = (void *)ecn_star_undo_cwnd,
	.flags = TCP_CONG_NON_RESTRICTED | TCP_CONG_NEEDS_ECN,
	.name = NAME,
};
