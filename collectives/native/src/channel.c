#include "channel.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static size_t padded(size_t length) { return (length + 2 * OD_LINE - 1) / (2 * OD_LINE) * (2 * OD_LINE); }

size_t od_inbox_length(int size, size_t eager) {
    return padded(sizeof(od_inbox)) + (size_t)size * (sizeof(od_lane) + OD_SLOTS * padded(eager));
}

static od_lane *lane(od_inbox *inbox, int member) {
    return (od_lane *)((unsigned char *)inbox + padded(sizeof(od_inbox))) + member;
}

static unsigned char *payload(od_inbox *inbox, int member, int size, size_t eager) {
    return (unsigned char *)lane(inbox, size) + (size_t)member * OD_SLOTS * padded(eager);
}

static od_directory_row *row_of(const od_world *world, int rank, uint64_t key, uint64_t wanted) {
    od_directory_row *rows = ((od_region *)world->regions[rank])->directory;
    for (uint64_t probe = 0; probe < OD_DIRECTORY; probe++) {
        od_directory_row *row = &rows[(key + probe) % OD_DIRECTORY];
        uint64_t found = atomic_load_explicit(&row->key, memory_order_acquire);
        if (found == wanted) return row;
        if (!found) return NULL;
    }
    return NULL;
}

od_channel *od_channel_open(od_world *world, uint64_t key, const int *members, int size, int me, uint64_t place,
                            size_t eager, size_t direct) {
    od_channel *channel = calloc(1, sizeof *channel + (size_t)size * sizeof *channel->peers);
    if (!channel) return NULL;
    channel->world = world;
    channel->key = key;
    channel->eager = eager;
    channel->direct = direct;
    channel->size = size;
    channel->me = me;
    channel->inbox = (od_inbox *)(world->regions[world->rank] + place);
    for (int member = 0; member < size; member++) {
        od_peer *peer = &channel->peers[member];
        peer->rank = members[member];
        peer->in = lane(channel->inbox, member);
        peer->in_payload = payload(channel->inbox, member, size, eager);
    }
    od_directory_row *row = row_of(world, world->rank, key, 0);
    if (!row) {
        free(channel);
        errno = ENOSPC;
        return NULL;
    }
    row->place = place;
    atomic_store_explicit(&row->key, key, memory_order_release);
    return channel;
}

void od_channel_close(od_channel *channel) {
    if (channel) od_wires_close(&channel->wires);
    free(channel);
}

bool od_channel_connect(od_channel *channel, int member, int descriptor) {
    channel->peers[member].wire = od_wires_add(&channel->wires, descriptor);
    return channel->peers[member].wire != NULL;
}

bool od_peer_ready(od_channel *channel, od_peer *peer) {
    if (peer->inbox || peer->wire) return true;
    if (!channel->world->regions[peer->rank]) return false;
    od_directory_row *row = row_of(channel->world, peer->rank, channel->key, channel->key);
    if (!row) return false;
    od_inbox *inbox = (od_inbox *)(channel->world->regions[peer->rank] + row->place);
    peer->out = lane(inbox, channel->me);
    peer->out_payload = payload(inbox, channel->me, channel->size, channel->eager);
    peer->inbox = inbox;
    return true;
}
