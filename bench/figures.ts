// Medians of a bench, and how figures are rendered.
export function median(numbers) {
  const sorted = [...numbers].sort((a, b) => a - b)
  const middle = sorted.length >> 1
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2
}

export const milliseconds = (number) => `${number.toFixed(0)} ms`

export const ratio = (number) => `${number.toFixed(2)} ×`
