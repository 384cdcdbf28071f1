/* Common parts of congestion controls in BPF (struct_ops): the fields of the kernel's structures that they use.
 *
 * Apache-2.0 as all of Shallows; the kernel requires this declaration: */
#include <linux/types.h>
#include <linux/bpf.h>
#include <linux/tcp.h>
#include <stdbool.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

char _license[] SEC("license") = "Dual MIT/GPL";

/* The used fields of the kernel's structures; the loader determines their offsets. */
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

/* The loader adapts this structure to the kernel's. */
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

/* Switches a connection to conventional TCP, which sends no ECN-capable packets, if the other side did not negotiate ECN. */
static __always_inline void need_ecn(struct sock *sk)
{
	char reno[] = "reno";

	if (!(((struct tcp_sock *)sk)->ecn_flags & TCP_ECN_OK))
		bpf_setsockopt(sk, SOL_TCP, TCP_CONGESTION, reno, sizeof(reno));
}

/* Placeholder; the loader replaces it by a name that no other process uses. */
#define NAME "name_of_nobody_"

extern __u32 tcp_reno_ssthresh(struct sock *sk) __ksym;
extern __u32 tcp_reno_undo_cwnd(struct sock *sk) __ksym;
extern void tcp_reno_cong_avoid(struct sock *sk, __u32 ack, __u32 acked) __ksym;
