/** The weather of a city. */
export interface Weather {
  readonly city: string;
  readonly celsius: number;
  readonly sky: string;
  /** In kilometres per hour. */
  readonly wind: number;
}

/** A morning in November, bundled so that the program needs no network and always answers the same. */
export const weatherTable: readonly Weather[] = [
  { city: 'Oslo', celsius: -3, sky: 'light snow', wind: 9 },
  { city: 'Lisbon', celsius: 16, sky: 'clear', wind: 14 },
  { city: 'London', celsius: 8, sky: 'drizzle', wind: 21 },
  { city: 'Paris', celsius: 9, sky: 'overcast', wind: 12 },
  { city: 'Berlin', celsius: 4, sky: 'fog', wind: 7 },
  { city: 'Rome', celsius: 15, sky: 'partly cloudy', wind: 10 },
  { city: 'Reykjavik', celsius: 1, sky: 'sleet', wind: 38 },
  { city: 'Cairo', celsius: 23, sky: 'clear', wind: 16 },
  { city: 'Nairobi', celsius: 22, sky: 'thunderstorm', wind: 11 },
  { city: 'New York', celsius: 7, sky: 'clear', wind: 18 },
  { city: 'Tokyo', celsius: 13, sky: 'rain', wind: 15 },
  { city: 'Sydney', celsius: 21, sky: 'partly cloudy', wind: 24 },
];
