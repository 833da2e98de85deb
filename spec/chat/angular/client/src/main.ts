// The application of the build target. The specs do not use it.
export {};
