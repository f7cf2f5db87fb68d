import CommandSupport

/// The signals of this process. Made before there are threads: they must not take them.
enum CommandSignals {
  static let watch = SignalWatch()
}
