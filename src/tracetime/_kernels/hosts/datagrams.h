/* Datagrams with the kernel's stamps: recvmsg, and what it says beside the bytes.
 *
 * Linux has stamps (SO_TIMESTAMPING, Documentation/networking/timestamping.rst); other POSIX systems
 * have datagrams alone, and Windows none of this. A failed call returns the negative errno.
 */
#ifndef TT_DATAGRAMS_H
#define TT_DATAGRAMS_H

#include <errno.h>
#include <stdint.h>
#include <string.h>

#define TT_MOST_BYTES 2048
#define TT_MOST_SOURCE 28 /* sockaddr_in6 */

typedef struct {
    int64_t stamp_ns;  /* REALTIME; 0 without one */
    uint32_t number;   /* of a departure: which datagram */
    int departed;      /* whether it is one */
    uint32_t source_bytes;
    unsigned char source[TT_MOST_SOURCE];
    unsigned char data[TT_MOST_BYTES];
} tt_datagram;

#if defined(_WIN32)
#define MSG_ERRQUEUE 0
#define MSG_DONTWAIT 0
static int tt_receive(int fd, uint32_t most, int flags, tt_datagram *out) {
    (void)fd; (void)most; (void)flags; (void)out;
    return -ENOSYS;
}
static int tt_send(int fd, const void *data, size_t n, const void *to, uint32_t to_bytes) {
    (void)fd; (void)data; (void)n; (void)to; (void)to_bytes;
    return -ENOSYS;
}
static int tt_was_set(int timer) { (void)timer; return -ENOSYS; }
#else
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>
#if defined(__linux__)
#include <linux/errqueue.h>
#include <netinet/in.h>
#endif
#ifndef MSG_ERRQUEUE
#define MSG_ERRQUEUE 0
#endif

#if defined(__linux__)
static void tt_note(struct cmsghdr *c, tt_datagram *out) {
    size_t n = c->cmsg_len - CMSG_LEN(0);
    if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SO_TIMESTAMPING) {
        struct timespec stamps[3]; /* that of the software first */
        if (n < sizeof stamps) return;
        memcpy(stamps, CMSG_DATA(c), sizeof stamps);
        out->stamp_ns = (int64_t)stamps[0].tv_sec * 1000000000 + stamps[0].tv_nsec;
    } else if ((c->cmsg_level == SOL_IP && c->cmsg_type == IP_RECVERR)
               || (c->cmsg_level == SOL_IPV6 && c->cmsg_type == IPV6_RECVERR)) {
        struct sock_extended_err error;
        if (n < sizeof error) return;
        memcpy(&error, CMSG_DATA(c), sizeof error);
        out->departed = error.ee_origin == SO_EE_ORIGIN_TIMESTAMPING;
        out->number = error.ee_data;
    }
}
#endif

/* Returns how many bytes came in, `most` if there were more. */
static int tt_receive(int fd, uint32_t most, int flags, tt_datagram *out) {
    union { struct cmsghdr align; char bytes[512]; } beside;
    struct iovec part = { out->data, most };
    struct msghdr message;
    ssize_t n;
    memset(&message, 0, sizeof message);
    message.msg_name = out->source;
    message.msg_namelen = TT_MOST_SOURCE;
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = beside.bytes;
    message.msg_controllen = sizeof beside.bytes;
    out->stamp_ns = 0;
    out->number = 0;
    out->departed = 0;
    n = recvmsg(fd, &message, flags);
    if (n < 0) return -errno;
    /* A longer address was cut off: it is of no family that is served. */
    out->source_bytes = message.msg_namelen > TT_MOST_SOURCE ? 0 : message.msg_namelen;
#if defined(__linux__)
    {
        struct cmsghdr *c;
        for (c = CMSG_FIRSTHDR(&message); c != NULL; c = CMSG_NXTHDR(&message, c)) tt_note(c, out);
    }
#endif
    return (int)n;
}

static int tt_send(int fd, const void *data, size_t n, const void *to, uint32_t to_bytes) {
    return sendto(fd, data, n, 0, (const struct sockaddr *)to, to_bytes) < 0 ? -errno : 0;
}

/* Whether the timer of the wall clock was cancelled: REALTIME was set. */
static int tt_was_set(int timer) {
    uint64_t expired;
    return read(timer, &expired, sizeof expired) >= 0 || errno != EAGAIN;
}
#endif
#endif
