/** The states of a part. A file of its own, because the types of the console come from it too. */
export const HEALTH_STATES = ['ok', 'warning', 'failed'] as const

export type HealthState = (typeof HEALTH_STATES)[number]
