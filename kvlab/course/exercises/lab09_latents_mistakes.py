"""`page_latents` as beginners write it."""

from __future__ import annotations

from kvlab.course.exercises.lab04_tensors import torch


def _write(pool, latent, rotary, slots):
    pool.view(-1, pool.shape[-1])[slots] = torch.cat([latent, rotary], -1)


def _rows(pool, table, length):
    return pool[torch.tensor(table)].reshape(-1, pool.shape[-1])[:length]


def _attend(query, rows, key_up, value_up, scale=None, rope=True, masked=True, ahead=0, values=None):
    kept = key_up.shape[2]
    latent, rotary = rows[:, :kept], rows[:, kept:]
    scores = torch.einsum("nhk,hkc,tc->hnt", query[..., : key_up.shape[1]], key_up, latent)
    if rope:
        scores = scores + torch.einsum("nhr,tr->hnt", query[..., key_up.shape[1] :], rotary)
    scores = scores * (query.shape[-1] ** -0.5 if scale is None else scale)
    if masked:
        new, length = scores.shape[1:]
        position = torch.arange(new) if ahead is None else torch.arange(length - new, length) + ahead
        scores = scores.masked_fill(torch.arange(length) > position[:, None], float("-inf"))
    made = torch.einsum("hvc,tc->htv", value_up, latent) if values is None else values
    return torch.einsum("hnt,htv->nhv", scores.softmax(-1), made)


def _done(query, latent, rotary, pool, slots, table, length, key_up, value_up, **how):
    _write(pool, latent, rotary, slots)
    return _attend(query, _rows(pool, table, length), key_up, value_up, **how)


def rotary_first(query, latent, rotary, pool, slots, table, length, key_up, value_up, scale=None):
    pool.view(-1, pool.shape[-1])[slots] = torch.cat([rotary, latent], -1)
    rows = _rows(pool, table, length)
    turned = torch.cat([rows[:, rotary.shape[1] :], rows[:, : rotary.shape[1]]], -1)
    return _attend(query, turned, key_up, value_up, scale)


def latents_alone(query, latent, rotary, pool, slots, table, length, key_up, value_up, scale=None):
    pool.view(-1, pool.shape[-1])[slots, : latent.shape[1]] = latent
    return _attend(query, _rows(pool, table, length), key_up, value_up, scale)


def slots_as_blocks(query, latent, rotary, pool, slots, table, length, key_up, value_up, scale=None):
    pool[slots] = torch.cat([latent, rotary], -1)[:, None, None]
    return _attend(query, _rows(pool, table, length), key_up, value_up, scale)


def writes_nothing(query, latent, rotary, pool, slots, table, length, key_up, value_up, scale=None):
    rows = _rows(pool, table, length).clone()
    rows[length - len(query) :] = torch.cat([latent, rotary], -1)
    return _attend(query, rows, key_up, value_up, scale)


def writes_later(query, latent, rotary, pool, slots, table, length, key_up, value_up, scale=None):
    output = _attend(query, _rows(pool, table, length).clone(), key_up, value_up, scale)
    _write(pool, latent, rotary, slots)
    return output


def positions(query, latent, rotary, pool, slots, table, length, key_up, value_up, scale=None):
    _write(pool, latent, rotary, slots)
    return _attend(query, pool.view(-1, pool.shape[-1])[:length], key_up, value_up, scale)


def new_alone(query, latent, rotary, pool, slots, table, length, key_up, value_up, scale=None):
    _write(pool, latent, rotary, slots)
    return _attend(query, torch.cat([latent, rotary], -1), key_up, value_up, scale)


def whole_blocks(query, latent, rotary, pool, slots, table, length, key_up, value_up, scale=None):
    _write(pool, latent, rotary, slots)
    rows = pool[torch.tensor(table)].reshape(-1, pool.shape[-1])
    return _attend(query, rows, key_up, value_up, scale, masked=False)


def no_rotary(query, latent, rotary, pool, slots, table, length, key_up, value_up, scale=None):
    return _done(query, latent, rotary, pool, slots, table, length, key_up, value_up, scale=scale, rope=False)


def no_mask(query, latent, rotary, pool, slots, table, length, key_up, value_up, scale=None):
    return _done(query, latent, rotary, pool, slots, table, length, key_up, value_up, scale=scale, masked=False)


def mask_without_offset(query, latent, rotary, pool, slots, table, length, key_up, value_up, scale=None):
    return _done(query, latent, rotary, pool, slots, table, length, key_up, value_up, scale=scale, ahead=None)


def sees_one_ahead(query, latent, rotary, pool, slots, table, length, key_up, value_up, scale=None):
    return _done(query, latent, rotary, pool, slots, table, length, key_up, value_up, scale=scale, ahead=1)


def scale_of_keys_alone(query, latent, rotary, pool, slots, table, length, key_up, value_up, scale=None):
    scale = key_up.shape[1] ** -0.5 if scale is None else scale
    return _done(query, latent, rotary, pool, slots, table, length, key_up, value_up, scale=scale)


def scale_of_latents(query, latent, rotary, pool, slots, table, length, key_up, value_up, scale=None):
    scale = key_up.shape[2] ** -0.5 if scale is None else scale
    return _done(query, latent, rotary, pool, slots, table, length, key_up, value_up, scale=scale)


def ignores_scale(query, latent, rotary, pool, slots, table, length, key_up, value_up, scale=None):
    return _done(query, latent, rotary, pool, slots, table, length, key_up, value_up)


def no_scale(query, latent, rotary, pool, slots, table, length, key_up, value_up, scale=None):
    return _done(query, latent, rotary, pool, slots, table, length, key_up, value_up, scale=1.0)


def hides_itself(query, latent, rotary, pool, slots, table, length, key_up, value_up, scale=None):
    return _done(query, latent, rotary, pool, slots, table, length, key_up, value_up, scale=scale, ahead=-1)


def scale_of_rows(query, latent, rotary, pool, slots, table, length, key_up, value_up, scale=None):
    scale = pool.shape[-1] ** -0.5 if scale is None else scale
    return _done(query, latent, rotary, pool, slots, table, length, key_up, value_up, scale=scale)


def rotary_before_the_key(query, latent, rotary, pool, slots, table, length, key_up, value_up, scale=None):
    turned = torch.cat([query[..., rotary.shape[1] :], query[..., : rotary.shape[1]]], -1)
    return _done(turned, latent, rotary, pool, slots, table, length, key_up, value_up, scale=scale)


def heads_first(query, latent, rotary, pool, slots, table, length, key_up, value_up, scale=None):
    found = _done(query, latent, rotary, pool, slots, table, length, key_up, value_up, scale=scale)
    return found.transpose(0, 1)


def first_head(query, latent, rotary, pool, slots, table, length, key_up, value_up, scale=None):
    one, other = key_up[:1].expand_as(key_up), value_up[:1].expand_as(value_up)
    return _done(query, latent, rotary, pool, slots, table, length, one, other, scale=scale)


def latents_for_values(query, latent, rotary, pool, slots, table, length, key_up, value_up, scale=None):
    _write(pool, latent, rotary, slots)
    rows = _rows(pool, table, length)
    values = rows[:, : latent.shape[1]].expand(len(key_up), -1, -1)
    return _attend(query, rows, key_up, value_up, scale, values=values)
