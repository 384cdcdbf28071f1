/* What programs of ours share that are congestion controls of a kernel (struct_ops): as much of its structures as they use.
 *
 * Apache-2.0 as all of Shallows, and as the kernel demands: */
#include <linux/types.h>
#include <linux/bpf.h>
#include <linux/tcp.h>
#include <stdbool.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

char _license[] SEC("license") = "Dual MIT/GPL";

/* As much of the kernel's structures as is used; where it is, the loader finds out. */
#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)
struct sock_common {
	__be32 skc_daddr, skc_rcv_saddr;
	__be16 skc_dport;
	__u16 skc_num;
};
struct sock {
	struct sock_common __sk_common;
};
struct inet_connection_sock {
	__u64 icsk_ca_priv[13];
	struct {
		__u8 pending;
	} icsk_ack;
};
struct tcp_sock {
	__u32 snd_nxt, snd_una, rcv_nxt, delivered, delivered_ce, snd_cwnd, snd_ssthresh;
	__u32 packets_out, retrans_out, sacked_out, lost_out;
	__u8 ecn_flags;
};
#pragma clang attribute pop

/* Filled in by the loader from the kernel's own. */
struct tcp_congestion_ops {
	void (*init)(struct sock *sk);
	__u32 (*ssthresh)(struct sock *sk);
	void (*cong_avoid)(struct sock *sk, __u32 ack, __u32 acked);
	void (*set_state)(struct sock *sk, __u8 next);
	void (*cwnd_event)(struct sock *sk, int event);
	void (*in_ack_event)(struct sock *sk, __u32 flags);
	__u32 (*undo_cwnd)(struct sock *sk);
	__u32 flags;
	char name[16];
};

enum {
	/* include/net/tcp.h, include/net/inet_connection_sock.h */
	CA_EVENT_CWND_RESTART = 1, CA_EVENT_LOSS = 3, CA_EVENT_ECN_NO_CE = 4, CA_EVENT_ECN_IS_CE = 5,
	CA_ACK_ECE = 4,
	TCP_CONG_NON_RESTRICTED = 1, TCP_CONG_NEEDS_ECN = 2,
	TCP_ECN_OK = 1, TCP_ECN_DEMAND_CWR = 4,
	SOL_TCP = 6,
	ICSK_ACK_TIMER = 2, ICSK_ACK_NOW = 16,
};

/* A connection whose other side knows no ECN is one of conventional TCP, which says of no packet that it may be marked. */
static __always_inline void need_ecn(struct sock *sk)
{
	char reno[] = "reno";

	if (!(((struct tcp_sock *)sk)->ecn_flags & TCP_ECN_OK))
		bpf_setsockopt(sk, SOL_TCP, TCP_CONGESTION, reno, sizeof(reno));
}

/* Replaced by one that no other process has. */
#define NAME "name_of_nobody_"

extern __u32 tcp_reno_ssthresh(struct sock *sk) __ksym;
extern __u32 tcp_reno_undo_cwnd(struct sock *sk) __ksym;
extern void tcp_reno_cong_avoid(struct sock *sk, __u32 ack, __u32 acked) __ksym;
