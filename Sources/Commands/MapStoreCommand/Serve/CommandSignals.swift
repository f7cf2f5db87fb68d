import CommandSupport

/// The signals of the process. Made before there are threads: they must not take them.
enum CommandSignals {
  static let watch = SignalWatch()
}
