import CSystemShim
import LibC

/// Wakes the monitor before its next check: by the kernel's PSI trigger, the events of a version 2 control group, or
/// the thresholds of version 1.
///
/// All of these are optional. Where none can be set up, for lack of permissions or kernel support, the check once a
/// second remains.
final class PressureAlarm: @unchecked Sendable {
  // Used by the monitor's thread only, except for `wake`, which only writes to a pipe.
  private struct WatchedFile {
    var descriptor: Int32
    var events: Int16
    /// The kernel keeps notifying until the file is read again.
    var needsReading: Bool
  }

  private var watched: [WatchedFile] = []
  private var wakePipe: (read: Int32, write: Int32) = (-1, -1)

  /// Some process stalls for 150 ms within 2 s. The kernel accepts only windows of multiples of 2 s from unprivileged
  /// processes.
  static let trigger = "some 150000 2000000"

  init(_ text: SystemText, _ marks: PressureGauge.Marks) {
    var ends: [Int32] = [-1, -1]
    if pipe(&ends) == 0 {
      for end in ends {
        _ = fcntl(end, F_SETFD, FD_CLOEXEC)
        _ = fcntl(end, F_SETFL, O_NONBLOCK)
      }
      wakePipe = (ends[0], ends[1])
      watched.append(WatchedFile(descriptor: ends[0], events: Int16(POLLIN), needsReading: true))
    }
    #if os(Linux)
      if let path = StallTimes.path(text) { addTrigger(path) }
      for group in ControlGroup.all(text) {
        switch group.version {
        case .one: addThresholds(group, text, marks)
        case .two: addEvents(group)
        }
      }
    #endif
  }

  deinit {
    for file in watched { close(file.descriptor) }
    if wakePipe.write >= 0 { close(wakePipe.write) }
  }

  /// The number of watched files of the kernel; for tests.
  var count: Int { watched.count - (wakePipe.read >= 0 ? 1 : 0) }

  /// Waits for a notification, at most this long.
  func wait(milliseconds: Int32) {
    var polls = watched.map { pollfd(fd: $0.descriptor, events: $0.events, revents: 0) }
    guard poll(&polls, nfds_t(polls.count), milliseconds) > 0 else { return }
    var bytes = [UInt8](repeating: 0, count: 512)
    for (file, found) in zip(watched, polls) where found.revents != 0 && file.needsReading {
      if file.events != Int16(POLLIN) { lseek(file.descriptor, 0, SEEK_SET) }
      _ = bytes.withUnsafeMutableBytes { read(file.descriptor, $0.baseAddress, $0.count) }
    }
    // A trigger of a removed group would notify forever.
    let isDead = polls.map {
      $0.revents & Int16(POLLNVAL) != 0 || $0.revents & Int16(POLLERR | POLLPRI) == Int16(POLLERR)
    }
    for index in watched.indices.reversed() where isDead[index] { close(watched.remove(at: index).descriptor) }
  }

  /// Waits, ignoring the kernel's notifications.
  func rest(milliseconds: Int32) {
    var wakeEnd = pollfd(fd: wakePipe.read, events: Int16(POLLIN), revents: 0)
    _ = poll(&wakeEnd, 1, milliseconds)
  }

  /// Ends a wait, from any thread.
  func wake() {
    var byte: UInt8 = 1
    _ = write(wakePipe.write, &byte, 1)
  }

  #if os(Linux)
    private func addTrigger(_ path: String) {
      let descriptor = open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC)
      guard descriptor >= 0 else { return }
      // The kernel expects the terminating NUL.
      guard Self.trigger.withCString({ write(descriptor, $0, strlen($0) + 1) }) > 0 else {
        close(descriptor)
        return
      }
      watched.append(WatchedFile(descriptor: descriptor, events: Int16(POLLPRI), needsReading: false))
    }

    private func addEvents(_ group: ControlGroup) {
      let descriptor = open("\(group.folder)/memory.events", O_RDONLY | O_CLOEXEC)
      guard descriptor >= 0 else { return }
      watched.append(WatchedFile(descriptor: descriptor, events: Int16(POLLPRI), needsReading: true))
    }

    private func addThresholds(_ group: ControlGroup, _ text: SystemText, _ marks: PressureGauge.Marks) {
      guard let limit = text.read("\(group.folder)/memory.limit_in_bytes")?.wholeNumber, limit > 0, limit < 1 << 60
      else { return }
      let control = open("\(group.folder)/cgroup.event_control", O_WRONLY | O_CLOEXEC)
      guard control >= 0 else { return }
      defer { close(control) }
      let usage = open("\(group.folder)/memory.usage_in_bytes", O_RDONLY | O_CLOEXEC)
      guard usage >= 0 else { return }
      // The kernel keeps its own reference to the file.
      defer { close(usage) }
      for mark in [marks.warning, marks.critical] {
        let event = csystem_event_descriptor()
        guard event >= 0 else { return }
        let line = "\(event) \(usage) \(Int(Double(limit) * mark))"
        guard line.withCString({ write(control, $0, strlen($0)) }) > 0 else {
          close(event)
          continue
        }
        watched.append(WatchedFile(descriptor: event, events: Int16(POLLIN), needsReading: true))
      }
    }
  #endif
}
