import type { X509Certificate } from 'node:crypto'

/** Why clients reject a certificate now, because of its dates; `undefined`: they do not. */
export function checkCertificateDates(
  { validFromDate, validToDate }: Pick<X509Certificate, 'validFromDate' | 'validToDate'>,
  nowMs: number,
): string | undefined {
  if (validFromDate.getTime() > nowMs) return 'is not valid yet'
  return validToDate.getTime() <= nowMs ? `expired on ${renderDay(validToDate)}` : undefined
}

export const renderDay = (date: Date): string => date.toISOString().slice(0, 10)
