# SPDX-License-Identifier: Apache-2.0
"""tenon.lua: a Wireshark dissector for a recorded or relayed connection."""

TAIL = r'''
local proto = Proto("tenon", "Tenon wire protocol")
local scalar_bytes = { u8 = 1, u16 = 2, u32 = 4, u64 = 8, f32 = 4, f64 = 8 }
local header = {
    length = ProtoField.uint32("tenon.length", "length"),
    type = ProtoField.uint16("tenon.type", "type", base.HEX),
    flags = ProtoField.uint8("tenon.flags", "flags", base.HEX),
    nfds = ProtoField.uint8("tenon.nfds", "nfds"),
    request = ProtoField.uint64("tenon.request", "request"),
}
proto.fields = { header.length, header.type, header.flags, header.nfds, header.request }

-- One number as text, with its name where it has one.
local function scalar_text(field, range)
    local kind = field[2]
    if kind == "f32" or kind == "f64" then return tostring(range:le_float()) end
    if kind == "u64" then return tostring(range:le_uint64()) end
    local v, names = range:le_uint(), field[4]
    if not names then return tostring(v) end
    if not names.bits then return (names[v] or "unknown") .. " (" .. v .. ")" end
    local set = {}
    for bit_number = 0, 31 do
        if math.floor(v / 2 ^ bit_number) % 2 == 1 then
            set[#set + 1] = names[bit_number] or ("bit " .. bit_number)
        end
    end
    return #set > 0 and table.concat(set, ", ") or "0"
end

local dissect_fields

-- A reference at @at: {offset, count} into the heap, bounds looked at.
local function reference(tree, field, tvb, at, heap, heap_size)
    local offset, count = tvb(at, 4):le_uint(), tvb(at + 4, 4):le_uint()
    local record = field[5]
    local unit = record and record.size or (field[2] == "list" and 4 or 1)
    local branch = tree:add(proto, tvb(at, 8), field[1] .. ": " .. count .. " at " .. offset)
    if count == 0 then return end
    if offset + count * unit > heap_size then
        branch:append_text(" (outside the heap)")
        return
    end
    local range = tvb(heap + offset, count * unit)
    if record then
        for i = 0, math.min(count, 1000) - 1 do
            local one = branch:add(proto, tvb(heap + offset + i * unit, unit), record.name .. " " .. i)
            dissect_fields(one, record.fields, tvb, heap + offset + i * unit, unit, heap, heap_size)
        end
    elseif field[2] == "list" then
        for i = 0, math.min(count, 1000) - 1 do
            branch:add(proto, tvb(heap + offset + i * 4, 4), tostring(tvb(heap + offset + i * 4, 4):le_uint()))
        end
    else
        branch:add(proto, range, range:string(ENC_UTF_8))
    end
end

-- Fields at @base; a field that begins behind @size is not there (a shorter fixed part).
dissect_fields = function(tree, fields, tvb, base_at, size, heap, heap_size)
    for _, field in ipairs(fields) do
        local bytes = scalar_bytes[field[2]] or 8
        if field[3] + bytes <= size then
            if scalar_bytes[field[2]] then
                local range = tvb(base_at + field[3], bytes)
                tree:add(proto, range, field[1] .. ": " .. scalar_text(field, range))
            else
                reference(tree, field, tvb, base_at + field[3], heap, heap_size)
            end
        end
    end
end

local function dissect_tlvs(tree, message, tvb, at, finish)
    while at + 8 <= finish do
        local tag, length = tvb(at, 2):le_uint(), tvb(at + 4, 4):le_uint()
        local critical = tag >= 0x8000
        if critical then tag = tag - 0x8000 end
        if length > finish - at - 8 then
            tree:add(proto, tvb(at, finish - at), "TLV beyond the payload")
            return
        end
        local name = message and message.tlvs[tag] and message.tlvs[tag][1] or "unknown"
        local one = tree:add(proto, tvb(at, 8 + length), "TLV " .. tag .. " " .. name)
        if critical then one:append_text(" (critical)") end
        local field = message and message.tlvs[tag]
        if length > 0 then
            local range = tvb(at + 8, length)
            if field and scalar_bytes[field[2]] == length then
                one:append_text(": " .. scalar_text(field, range))
            else
                one:append_text(": " .. range:string(ENC_UTF_8))
            end
        end
        at = at + 8 + length + (8 - length % 8) % 8
    end
end

local function find(kind, flags, tvb, payload, length)
    if math.floor(flags / 2) % 2 == 1 then return by_type[0x8000][0] end
    local variants = by_type[kind]
    if not variants then return nil end
    return variants[0] or (length >= 12 and variants[tvb(payload + 8, 4):le_uint()]) or nil
end

local function dissect_frame(tvb, pinfo, tree)
    local length, kind, flags = tvb(0, 4):le_uint(), tvb(4, 2):le_uint(), tvb(6, 1):uint()
    local message = find(kind, flags, tvb, 16, length)
    local name = message and message.name or reserved[kind] or string.format("type 0x%04x", kind)
    pinfo.cols.protocol = "TENON"
    pinfo.cols.info:append(name .. " ")
    local request = tostring(tvb(8, 8):le_uint64())
    local top = tree:add(proto, tvb(0, 16 + length), "Tenon " .. name .. ", request " .. request)
    top:add_le(header.length, tvb(0, 4))
    top:add_le(header.type, tvb(4, 2))
    top:add(header.flags, tvb(6, 1))
    top:add(header.nfds, tvb(7, 1))
    top:add_le(header.request, tvb(8, 8))
    if length < 8 then return end
    local fixed, heap_size = tvb(16, 4):le_uint(), tvb(20, 4):le_uint()
    if fixed < 8 or fixed + heap_size > length then
        top:add(proto, tvb(16, 8), "fixed_size and heap_size do not fit the payload")
        return
    end
    if message then dissect_fields(top, message.fields, tvb, 16, fixed, 16 + fixed, heap_size) end
    dissect_tlvs(top, message, tvb, 16 + fixed + heap_size, 16 + length)
end

function proto.dissector(tvb, pinfo, tree)
    pinfo.cols.info = ""
    dissect_tcp_pdus(tvb, tree, 16, function(head) return 16 + head(0, 4):le_uint() end,
        function(pdu, info, branch) dissect_frame(pdu, info, branch) return pdu:len() end)
    return tvb:len()
end

-- No port is ours: choose "Decode As… > TENON" for the port of your relay.
DissectorTable.get("tcp.port"):add_for_decode_as(proto)
'''


def text(s):
    return '"' + s.replace('\\', '\\\\').replace('"', '\\"') + '"'


def field(f):
    kind = 'bytes' if f.kind == 'text' else f.kind
    parts = [text(f.name), text(kind), str(f.tag or f.offset)]
    if f.names:
        parts.append(('flags.' if f.names.bits else 'enums.') + f.names.name)
    if f.record:
        parts += ['nil', f'records.{f.record.name}']
    return '{ ' + ', '.join(parts) + ' }'


def render(wire):
    out = ['-- SPDX-License-Identifier: Apache-2.0',
           '-- Wireshark dissector.  Made by generate.py from wire.json; do not edit.',
           '--',
           '-- A Unix socket is not seen by a capture; put a relay between and record that:',
           '--   socat TCP-LISTEN:5555,bind=127.0.0.1,fork UNIX-CONNECT:/run/tenon/tenon.sock', '',
           'local enums, flags, records, by_type, reserved = {}, {}, {}, {}, {}']
    for e in list(wire.enums.values()) + list(wire.flag_sets.values()):
        values = ', '.join(f'[{v}] = {text(n)}' for v, n, _ in e.items)
        out.append(f'{"flags" if e.bits else "enums"}.{e.name} = {{ bits = {str(e.bits).lower()}, {values} }}')
    for r in wire.records.values():
        out.append(f'records.{r.name} = {{ name = {text(r.name)}, size = {r.size}, fields = {{')
        out += [f'    {field(f)},' for f in r.fields] + ['} }']
    for m in wire.messages:
        if m.reserved:
            out.append(f'reserved[{m.type:#06x}] = {text(m.name)}')
            continue
        out.append(f'by_type[{m.type:#06x}] = by_type[{m.type:#06x}] or {{}}')
        out.append(f'by_type[{m.type:#06x}][{m.kind}] = {{ name = {text(m.name)}, fields = {{')
        out += [f'    {field(f)},' for f in m.fields] + ['}, tlvs = {']
        out += [f'    [{f.tag}] = {field(f)},' for f in m.tlvs] + ['} }']
    return '\n'.join(out) + TAIL
