import CSystemShim

#if canImport(Darwin)
  import Darwin
#elseif canImport(Musl)
  import Musl
#else
  import Glibc
#endif

/// Wakes the monitor before its next look is due: by the kernel's PSI trigger, by the events of a control group of version 2, by the thresholds of version 1.
///
/// All of it is a hint: where none can be set up, for lack of rights or of a kernel that has it, the look once a second remains.
final class PressureAlarm: @unchecked Sendable {
  // Used by the monitor's thread alone, but for `wake`, which only writes to a pipe.
  private struct Bell {
    var descriptor: Int32
    var events: Int16
    /// The kernel keeps ringing until the file was read again.
    var isReread: Bool
  }

  private var bells: [Bell] = []
  private var own: (read: Int32, write: Int32) = (-1, -1)

  /// Some process waits 150 ms in 2 s; the kernel takes windows of whole multiples of 2 s from processes without rights.
  static let trigger = "some 150000 2000000"

  init(_ text: SystemText, _ marks: PressureGauge.Marks) {
    var ends: [Int32] = [-1, -1]
    if pipe(&ends) == 0 {
      for end in ends {
        _ = fcntl(end, F_SETFD, FD_CLOEXEC)
        _ = fcntl(end, F_SETFL, O_NONBLOCK)
      }
      own = (ends[0], ends[1])
      bells.append(Bell(descriptor: ends[0], events: Int16(POLLIN), isReread: true))
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
    for bell in bells { close(bell.descriptor) }
    if own.write >= 0 { close(own.write) }
  }

  /// How many there are beside our own; for tests.
  var count: Int { bells.count - (own.read >= 0 ? 1 : 0) }

  /// Waits for an alarm, at most so long.
  func wait(milliseconds: Int32) {
    var polls = bells.map { pollfd(fd: $0.descriptor, events: $0.events, revents: 0) }
    guard poll(&polls, nfds_t(polls.count), milliseconds) > 0 else { return }
    var bytes = [UInt8](repeating: 0, count: 512)
    for (bell, found) in zip(bells, polls) where found.revents != 0 && bell.isReread {
      if bell.events != Int16(POLLIN) { lseek(bell.descriptor, 0, SEEK_SET) }
      _ = bytes.withUnsafeMutableBytes { read(bell.descriptor, $0.baseAddress, $0.count) }
    }
    // A trigger of a group that was removed would ring for ever.
    let isDead = polls.map {
      $0.revents & Int16(POLLNVAL) != 0 || $0.revents & Int16(POLLERR | POLLPRI) == Int16(POLLERR)
    }
    for index in bells.indices.reversed() where isDead[index] { close(bells.remove(at: index).descriptor) }
  }

  /// Waits, deaf to the kernel's alarms.
  func rest(milliseconds: Int32) {
    var bell = pollfd(fd: own.read, events: Int16(POLLIN), revents: 0)
    _ = poll(&bell, 1, milliseconds)
  }

  /// Ends a wait, from any thread.
  func wake() {
    var byte: UInt8 = 1
    _ = write(own.write, &byte, 1)
  }

  #if os(Linux)
    private func addTrigger(_ path: String) {
      let descriptor = open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC)
      guard descriptor >= 0 else { return }
      // With its closing NUL, as the kernel wants it.
      guard Self.trigger.withCString({ write(descriptor, $0, strlen($0) + 1) }) > 0 else {
        close(descriptor)
        return
      }
      bells.append(Bell(descriptor: descriptor, events: Int16(POLLPRI), isReread: false))
    }

    private func addEvents(_ group: ControlGroup) {
      let descriptor = open("\(group.folder)/memory.events", O_RDONLY | O_CLOEXEC)
      guard descriptor >= 0 else { return }
      bells.append(Bell(descriptor: descriptor, events: Int16(POLLPRI), isReread: true))
    }

    private func addThresholds(_ group: ControlGroup, _ text: SystemText, _ marks: PressureGauge.Marks) {
      guard let limit = text.read("\(group.folder)/memory.limit_in_bytes")?.wholeNumber, limit > 0, limit < 1 << 60
      else { return }
      let control = open("\(group.folder)/cgroup.event_control", O_WRONLY | O_CLOEXEC)
      guard control >= 0 else { return }
      defer { close(control) }
      let usage = open("\(group.folder)/memory.usage_in_bytes", O_RDONLY | O_CLOEXEC)
      guard usage >= 0 else { return }
      // The kernel keeps its own hold on the file.
      defer { close(usage) }
      for mark in [marks.warning, marks.critical] {
        let event = csystem_event_descriptor()
        guard event >= 0 else { return }
        let line = "\(event) \(usage) \(Int(Double(limit) * mark))"
        guard line.withCString({ write(control, $0, strlen($0)) }) > 0 else {
          close(event)
          continue
        }
        bells.append(Bell(descriptor: event, events: Int16(POLLIN), isReread: true))
      }
    }
  #endif
}
