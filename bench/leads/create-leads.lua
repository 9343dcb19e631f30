-- wrk: creates leads with a phone of one of `known` seeded contacts or a random one, a name, often
-- an e-mail, sometimes a custom field: `wrk -s create-leads.lua <url> -- <path> <token> <key> <known> <seed>`.
-- The request is built here, because wrk.format costs more than the rest of wrk.
local threads = {}

function setup(thread)
  thread:set("number", #threads + 1)
  table.insert(threads, thread)
end

function init(args)
  head = "POST " .. args[1] .. " HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer " .. args[2]
    .. "\r\nContent-Type: application/json\r\nContent-Length: "
  field = args[3]
  known = tonumber(args[4])
  math.randomseed(tonumber(args[5]) * 100 + number)
end

function request()
  local draw = math.random(0, 3)
  local phone = math.random(0, 1) == 0 and 9000000000 + math.random(1, known)
    or 6000000000 + math.random(0, 2999999999)
  local body = string.format('{"phone":"%.0f","name":"Lead %d"', phone, phone % 1000)
  if draw > 0 then body = body .. string.format(',"email":"lead%d@example.com"', phone % 1000) end
  if draw == 3 then body = body .. ',"customFields":{"' .. field .. '":"from the fair"}' end
  body = body .. "}"
  return head .. #body .. "\r\n\r\n" .. body
end

function done(summary, latency)
  local errors = summary.errors
  print(string.format(
    '{"seconds":%.6f,"answers":%d,"refused":%d,"broken":%d,"p50_ms":%.3f,"p99_ms":%.3f}',
    summary.duration / 1e6, summary.requests, errors.status,
    errors.connect + errors.read + errors.write + errors.timeout,
    latency:percentile(50) / 1e3, latency:percentile(99) / 1e3))
end
