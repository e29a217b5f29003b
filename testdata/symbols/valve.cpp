// The C++ part of the program: names that are mangled.

namespace pump {

class Valve {
  public:
    explicit Valve(int limit) : limit_(limit) {}
    int clamp(int value) const;

  private:
    int limit_;
};

__attribute__((noinline)) int Valve::clamp(int value) const
{
    return value > limit_ ? limit_ : value;
}

template <typename T> __attribute__((noinline)) T twice(T value)
{
    return value + value;
}

namespace {
__attribute__((noinline)) int hidden(int value)
{
    return value ^ 0x55;
}
} // namespace

} // namespace pump

extern "C" int pump_step(int flow)
{
    auto add = [](int one) __attribute__((noinline)) { return one + 1; };
    return pump::hidden(pump::twice<int>(pump::Valve(100).clamp(add(flow))));
}
