// One request. A fault can cause an error response or no response; neither proves anything about a credential.
const TIMEOUT_MS = 15_000
const UNDECIDED = new Set([408, 429, 502, 503, 504])

export const basic = ({ name, password }) => `Basic ${Buffer.from(`${name}:${password}`).toString('base64')}`

/**
 * `status` 0: no response. `isUndecided`: the request may or may not have had its effect, and its credential may or may
 * not be valid.
 */
export async function ask(base, { method = 'GET', path, headers = {}, body }) {
  const json = body === undefined ? {} : { 'Content-Type': 'application/json' }
  try {
    const response = await fetch(`${base}${path}`, {
      method,
      headers: { ...json, ...headers },
      ...(body !== undefined && { body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(TIMEOUT_MS),
      redirect: 'manual',
    })
    const text = await response.text()
    const cookie = response.headers.getSetCookie()[0]?.split(';')[0]
    return { status: response.status, isUndecided: UNDECIDED.has(response.status), json: parse(text), cookie }
  } catch {
    return { status: 0, isUndecided: true, json: undefined, cookie: undefined }
  }
}

function parse(text) {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
