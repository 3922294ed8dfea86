import { createHmac } from 'node:crypto'
import { PRODUCT } from '../../../base/product.ts'
import { toShownRecord } from '../audit-record.ts'
import type { Destination, DestinationSettings } from './destination.ts'

const RESPONSE_MS = 10_000
/** `t=SECONDS,v1=HEX`: the HMAC-SHA256 of `SECONDS.BODY`. */
const SIGNATURE_HEADER = 'X-Cardea-Signature'

/** Sends records as `POST` with `{"records": […]}`. Every status of 2xx means that they are stored. */
export const createWebhook = (url: URL, { webhookKey }: DestinationSettings): Destination => ({
  async write(records) {
    const body = JSON.stringify({ records: records.map(toShownRecord) })
    const response = await fetch(url, {
      method: 'POST',
      headers: {
        'Content-Type': 'application/json',
        'User-Agent': `${PRODUCT.name}/${PRODUCT.version}`,
        ...(webhookKey && { [SIGNATURE_HEADER]: signBody(body, webhookKey, Math.floor(Date.now() / 1000)) }),
      },
      body,
      // a redirect could lead the records to another server
      redirect: 'error',
      signal: AbortSignal.timeout(RESPONSE_MS),
    })
    await response.body?.cancel()
    if (!response.ok) throw new Error(`the webhook responded with ${response.status}`)
  },
  close: async () => {},
})

export const signBody = (body: string, key: Uint8Array, seconds: number): string =>
  `t=${seconds},v1=${createHmac('sha256', key).update(`${seconds}.${body}`).digest('hex')}`
