-- Asks Cardea at CARDEA_GATE whether a request may pass, and sets txn.gate_* for the rules of haproxy.cfg:
-- docs/guides/protect-an-application.md. Keeps a decision as long as its Cache-Control allows.
local url = os.getenv('CARDEA_GATE')
-- bounds the memory: all are forgotten when there are more
local max_kept = 10000
local kept, count = {}, 0

local function joined(values)
    local all = {}
    for index, value in pairs(values or {}) do all[index + 1] = value end
    return table.concat(all, '; ')
end

local function first(headers, name)
    return headers and headers[name] and headers[name][0]
end

local function ask(authorization, cookie, scheme, address)
    local headers = { ['x-forwarded-for'] = { address }, ['x-forwarded-proto'] = { scheme } }
    if authorization ~= '' then headers.authorization = { authorization } end
    if cookie ~= '' then headers.cookie = { cookie } end
    return core.httpclient():get { url = url, headers = headers }
end

core.register_action('gate', { 'http-req' }, function(txn)
    local sent = txn.http:req_get_headers()
    local authorization, cookie = joined(sent['authorization']), joined(sent['cookie'])
    local scheme = txn:get_var('txn.scheme')
    local key = table.concat({ scheme, #authorization, authorization, cookie }, ' ')
    local now = core.now()
    local seconds = now.sec + now.usec / 1000000
    local decision = kept[key]
    if not decision or decision.ends <= seconds then
        local reply = ask(authorization, cookie, scheme, txn.f:src())
        local age = tonumber((first(reply.headers, 'cache-control') or ''):match('max%-age=(%d+)') or 0)
        decision = { reply = reply, ends = seconds + age }
        if age > 0 then
            if count >= max_kept then kept, count = {}, 0 end
            if not kept[key] then count = count + 1 end
            kept[key] = decision
        end
    end
    local reply = decision.reply
    txn:set_var('txn.gate_status', reply.status or 503)
    txn:set_var('txn.gate_user', first(reply.headers, 'x-auth-user') or '')
    txn:set_var('txn.gate_user_id', first(reply.headers, 'x-auth-user-id') or '')
    txn:set_var('txn.gate_roles', first(reply.headers, 'x-auth-roles') or '')
    txn:set_var('txn.gate_token', first(reply.headers, 'x-auth-token') or '')
    local renewed = first(reply.headers, 'set-cookie')
    if renewed then txn:set_var('txn.gate_cookie', renewed) end
end)
